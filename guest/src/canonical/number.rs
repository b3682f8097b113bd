//! Numbers by their exact value (C4), in the layout of RFC 8785 (section 3.2.2.3).

/// The length of the number that `text` begins with, if it is one of the most usual: a positive integer of few digits, which is written
/// as its canonical text has it. 0 of any other.
pub fn plain_integer(text: &[u8]) -> usize {
    let length = text.iter().take(16).take_while(|byte| byte.is_ascii_digit()).count();
    match (text.first(), text.get(length)) {
        (Some(b'1'..=b'9'), Some(b',' | b'}' | b']')) => length,
        _ => 0,
    }
}

/// The parts of a JSON number, as its grammar splits it.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent_negative: bool,
    exponent: &'a [u8],
}

impl<'a> Number<'a> {
    /// Takes a number off the start of `text`, and says how many bytes it has; none if there is no
    /// number, or if it is malformed.
    pub fn take(text: &'a [u8]) -> Option<(Self, usize)> {
        let (negative, rest) = strip(text, b"-");
        let (integer, rest) = digits(rest);
        if integer.is_empty() || (integer.len() > 1 && integer.starts_with(b"0")) {
            return None;
        }
        let (point, rest) = strip(rest, b".");
        let (fraction, rest) = if point { digits(rest) } else { rest.split_at(0) };
        if point && fraction.is_empty() {
            return None;
        }
        let (marked, rest) = strip(rest, b"eE");
        let exponent_negative = marked && rest.starts_with(b"-");
        let (exponent, rest) = if marked { digits(strip(rest, b"+-").1) } else { rest.split_at(0) };
        if marked && exponent.is_empty() {
            return None;
        }
        Some((Self { negative, integer, fraction, exponent_negative, exponent }, text.len() - rest.len()))
    }

    /// Whether the number is written as its canonical text has it. With an exponent, some are that are not recognised.
    pub fn is_canonical(self) -> bool {
        let is_zero = self.integer == b"0";
        let is_plain = self.exponent.is_empty() && self.integer.len() <= 21;
        is_plain
            && match self.fraction {
                [] => !(self.negative && is_zero),
                [.., b'0'] => false,
                fraction => !is_zero || !fraction.starts_with(b"000000"),
            }
    }

    /// Writes the number with all the digits of its value: plain from 1e-6 to below 1e21, with an exponent
    /// beyond.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "points are cast where they are known to be small"
    )]
    pub fn write(self, out: &mut Vec<u8>) {
        let start = out.len();
        if self.negative {
            out.push(b'-');
        }
        let first = out.len();
        out.extend_from_slice(self.integer);
        out.extend_from_slice(self.fraction);
        let digits = out.get(first..).unwrap_or_default();
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let Some(last) = digits.iter().rposition(|&digit| digit != b'0') else {
            out.truncate(start);
            return out.push(b'0');
        };
        out.truncate(first + last + 1);
        out.drain(first..first + zeros);
        let count = out.len() - first;
        // The value is 0.DIGITS times ten to the power of `point`.
        let shift = self.integer.len() as i64 - zeros as i64;
        let point = self.small_exponent().map(|exponent| exponent + shift);
        match point {
            Some(point @ 1..=21) => {
                let point = point as usize;
                if point < count {
                    out.insert(first + point, b'.');
                } else {
                    out.resize(first + point, b'0');
                }
            }
            Some(point @ -5..=0) => {
                let digits = out.split_off(first);
                out.extend_from_slice(b"0.");
                out.resize(out.len() + point.unsigned_abs() as usize, b'0');
                out.extend_from_slice(&digits);
            }
            _ => {
                if count > 1 {
                    out.insert(first + 1, b'.');
                }
                out.push(b'e');
                match point {
                    Some(point) => {
                        let exponent = point - 1;
                        out.push(if exponent < 0 { b'-' } else { b'+' });
                        out.extend_from_slice(exponent.unsigned_abs().to_string().as_bytes());
                    }
                    None => self.write_large_exponent(shift - 1, out),
                }
            }
        }
    }

    /// The exponent, if it has at most 18 digits.
    fn small_exponent(&self) -> Option<i64> {
        let magnitude = self.exponent_digits();
        if magnitude.len() > 18 {
            return None;
        }
        let magnitude = magnitude.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        Some(if self.exponent_negative { -magnitude } else { magnitude })
    }

    /// Writes the sum of an exponent of more than 18 digits and `shift`, which is far smaller: no
    /// text is as long as that.
    #[allow(clippy::cast_possible_truncation, reason = "a remainder of ten is a digit")]
    fn write_large_exponent(&self, shift: i64, out: &mut Vec<u8>) {
        out.push(if self.exponent_negative { b'-' } else { b'+' });
        let mut magnitude = vec![b'0'];
        magnitude.extend_from_slice(self.exponent_digits());
        let mut carry = if self.exponent_negative { -shift } else { shift };
        for digit in magnitude.iter_mut().rev() {
            if carry == 0 {
                break;
            }
            let sum = i64::from(*digit - b'0') + carry;
            *digit = b'0' + sum.rem_euclid(10) as u8;
            carry = sum.div_euclid(10);
        }
        out.extend_from_slice(without_leading_zeros(&magnitude));
    }

    fn exponent_digits(&self) -> &'a [u8] {
        without_leading_zeros(self.exponent)
    }
}

fn strip<'a>(text: &'a [u8], any: &[u8]) -> (bool, &'a [u8]) {
    match text.split_first() {
        Some((first, rest)) if any.contains(first) => (true, rest),
        _ => (false, text),
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    digits.get(digits.iter().take_while(|&&digit| digit == b'0').count()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Number, plain_integer};

    fn canonical(text: &str) -> Option<String> {
        let (number, length) = Number::take(text.as_bytes())?;
        let mut out = Vec::new();
        number.write(&mut out);
        (length == text.len()).then(|| String::from_utf8(out).unwrap_or_default())
    }

    #[test]
    fn c4_plain_integers() {
        for (text, expected) in [
            ("1,", 1),
            ("1234567890123456]", 16),
            ("9}", 1),
            ("12345678901234567,", 0),
            ("1", 0),
            ("1 ,", 0),
            ("0,", 0),
            ("01,", 0),
            ("-1,", 0),
            ("1.5,", 0),
            ("1e5,", 0),
            (",", 0),
            ("", 0),
        ] {
            assert_eq!(plain_integer(text.as_bytes()), expected, "of {text:?}");
        }
    }

    #[test]
    fn c4_layout() {
        let thirty = "123456789012345678901234567890";
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.000e5", "0"),
            ("1", "1"),
            ("-1", "-1"),
            ("10", "10"),
            ("1e1", "10"),
            ("100e-2", "1"),
            ("1.50", "1.5"),
            ("0.5", "0.5"),
            ("5e-1", "0.5"),
            ("0.05e1", "0.5"),
            ("12345e-2", "123.45"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("1000000000000000000000", "1e+21"),
            ("999999999999999999999", "999999999999999999999"),
            ("123456789012345678901.5", "123456789012345678901.5"),
            (thirty, "1.2345678901234567890123456789e+29"),
            ("1e-6", "0.000001"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("0.00000012", "1.2e-7"),
            ("1E400", "1e+400"),
            ("-1.5e-400", "-1.5e-400"),
            ("9007199254740992", "9007199254740992"),
            ("9007199254740993", "9007199254740993"),
            ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "of {text}");
        }
    }

    #[test]
    fn c4_exponents_have_no_bound() {
        for (text, expected) in [
            ("1e999999999", "1e+999999999"),
            ("10e999999999999999999", "1e+1000000000000000000"),
            ("1e99999999999999999999999999", "1e+99999999999999999999999999"),
            ("10e99999999999999999999999999", "1e+100000000000000000000000000"),
            ("0.01e100000000000000000000000000", "1e+99999999999999999999999998"),
            ("12e-100000000000000000000", "1.2e-99999999999999999999"),
            ("0.1e-99999999999999999999", "1e-100000000000000000000"),
            ("1e000000000000000000000000000007", "10000000"),
            ("1e+000000000000000000000000000000", "1"),
            ("0e99999999999999999999999999", "0"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "of {text}");
        }
    }

    #[test]
    fn c3_malformed_numbers() {
        for text in ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1e1.5", "0x10", "--1", "1_000", "Infinity"] {
            assert_eq!(canonical(text), None, "of {text}");
        }
    }
}
