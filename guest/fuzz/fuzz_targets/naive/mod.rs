//! JSON read naively: character by character, with exact numbers, and with no thought for time or memory.

use num_bigint::BigInt;

/// A value as it is written: members keep their order, and those of one name are all there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// `digits` times ten to the power of `exponent`. The last digit is not zero; without digits, the number is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    pub negative: bool,
    pub digits: String,
    pub exponent: BigInt,
}

impl Json {
    /// Reads a whole text; none if it is not JSON, or nested deeper than 127 levels (C6).
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader(text.chars().rev().collect());
        let value = reader.value(0)?;
        reader.space();
        reader.0.is_empty().then_some(value)
    }

    /// The value that the members stand for, in whatever order they came: the last of each name (C2).
    #[allow(dead_code, reason = "not every target compares values")]
    pub fn meaning(self) -> Self {
        match self {
            Self::Array(elements) => Self::Array(elements.into_iter().map(Self::meaning).collect()),
            Self::Object(members) => {
                let mut last: Vec<(String, Self)> = Vec::new();
                for (name, value) in members {
                    last.retain(|(other, _)| *other != name);
                    last.push((name, value.meaning()));
                }
                last.sort();
                Self::Object(last)
            }
            other => other,
        }
    }
}

/// What is left of a text, the next character last.
struct Reader(Vec<char>);

impl Reader {
    fn space(&mut self) {
        while matches!(self.0.last(), Some(' ' | '\t' | '\n' | '\r')) {
            self.0.pop();
        }
    }

    fn take(&mut self, expected: &str) -> Option<()> {
        expected.chars().all(|character| self.0.pop() == Some(character)).then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.space();
        match *self.0.last()? {
            'n' => self.take("null").map(|()| Json::Null),
            't' => self.take("true").map(|()| Json::Bool(true)),
            'f' => self.take("false").map(|()| Json::Bool(false)),
            '"' => self.string().map(Json::String),
            '[' if depth < 127 => self.list(']', |reader| reader.value(depth + 1)).map(Json::Array),
            '{' if depth < 127 => {
                let member = |reader: &mut Self| {
                    reader.space();
                    let name = reader.string()?;
                    reader.space();
                    reader.take(":")?;
                    Some((name, reader.value(depth + 1)?))
                };
                self.list('}', member).map(Json::Object)
            }
            _ => self.number().map(Json::Number),
        }
    }

    fn list<T>(&mut self, end: char, mut element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.0.pop();
        self.space();
        let mut elements = Vec::new();
        if self.0.last() == Some(&end) {
            self.0.pop();
            return Some(elements);
        }
        loop {
            elements.push(element(self)?);
            self.space();
            match self.0.pop()? {
                ',' => {}
                other => return (other == end).then_some(elements),
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut units = Vec::new();
        loop {
            match self.0.pop()? {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => units.push(match self.0.pop()? {
                    'b' => 8,
                    't' => 9,
                    'n' => 10,
                    'f' => 12,
                    'r' => 13,
                    'u' => {
                        let digits: String = (0..4).filter_map(|_| self.0.pop()).collect();
                        let all_digits = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
                        u16::from_str_radix(&digits, 16).ok().filter(|_| all_digits)?
                    }
                    same @ ('"' | '\\' | '/') => same as u16,
                    _ => return None,
                }),
                '\0'..='\x1f' => return None,
                other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn digits(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(digit) = self.0.pop_if(|next| next.is_ascii_digit()) {
            digits.push(digit);
        }
        (!digits.is_empty()).then_some(digits)
    }

    fn number(&mut self) -> Option<Number> {
        let negative = self.0.pop_if(|next| *next == '-').is_some();
        let mut digits = self.digits()?;
        if digits.starts_with('0') && digits != "0" {
            return None;
        }
        let mut exponent = BigInt::ZERO;
        if self.0.pop_if(|next| *next == '.').is_some() {
            let fraction = self.digits()?;
            exponent -= fraction.len();
            digits += &fraction;
        }
        if self.0.pop_if(|next| matches!(next, 'e' | 'E')).is_some() {
            let sign = self.0.pop_if(|next| matches!(next, '+' | '-'));
            let written: BigInt = self.digits()?.parse().ok()?;
            exponent += if sign == Some('-') { -written } else { written };
        }
        while digits.ends_with('0') {
            digits.pop();
            exponent += 1;
        }
        digits = digits.trim_start_matches('0').to_owned();
        Some(if digits.is_empty() {
            Number { negative: false, digits, exponent: BigInt::ZERO }
        } else {
            Number { negative, digits, exponent }
        })
    }
}
