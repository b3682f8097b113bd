//! JSON text of a value that stands in a YAML or TOML file, and how this project reads YAML.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::DuplicateKeyPolicy;

/// JSON text of a value from any format that serde reads.
///
/// Members keep their order. What would not arrive as it was written is an error, never dropped or changed: infinities, NaN,
/// dates, binary data, and numbers beyond 2^52 that the format reads as floating point. Smaller fractions are what double
/// precision makes of them, as both formats have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(pub String);

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::new();
        Writer(&mut text).deserialize(deserializer)?;
        Ok(Self(text))
    }
}

/// Reads YAML 1.2: `yes` and `on` are strings, and no key may stand twice.
///
/// # Errors
///
/// Whatever is wrong with it first, and where.
pub fn from_yaml<T: DeserializeOwned>(yaml: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        // Deep enough for arguments that the guard calls too deep, and large enough for a long session.
        budget: serde_saphyr::budget! { max_depth: 300, max_nodes: 5_000_000, max_total_scalar_bytes: 256 << 20 },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options)
}

/// What TOML's deserializer calls the one field of a date.
const TOML_DATE: &str = "$__toml_private_datetime";

/// From here on a floating-point number cannot tell a fraction, and may once have had other digits.
const EXACT: f64 = (1_u64 << 52) as f64;

/// Appends the value it meets to a text.
struct Writer<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Writer<'_> {
    fn display(self, value: impl fmt::Display) {
        self.0.push_str(&value.to_string());
    }
}

impl<'de> Visitor<'de> for Writer<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value that JSON can hold")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.display(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.display(value);
        Ok(())
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<(), E> {
        self.display(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.display(value);
        Ok(())
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<(), E> {
        self.display(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom(format!("{value} is not a number that JSON can hold")));
        }
        if value.abs() >= EXACT {
            return Err(E::custom(format!("{value} may have lost digits; write a number this large as JSON text")));
        }
        // `{:?}` has the shortest digits that mean the same, and an exponent where there are many.
        self.display(format_args!("{value:?}"));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let quoted = serde_json::to_string(value).map_err(E::custom)?;
        self.0.push_str(&quoted);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let text = self.0;
        let mut separator = '[';
        loop {
            let end = text.len();
            text.push(separator);
            if elements.next_element_seed(Writer(text))?.is_none() {
                text.truncate(end);
                break;
            }
            separator = ',';
        }
        text.push_str(if separator == '[' { "[]" } else { "]" });
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let text = self.0;
        let mut separator = '{';
        while let Some(name) = members.next_key::<String>()? {
            if name == TOML_DATE {
                return Err(A::Error::custom("JSON has no dates: write it as a string"));
            }
            text.push(separator);
            separator = ',';
            Writer(text).visit_str::<A::Error>(&name)?;
            text.push(':');
            members.next_value_seed(Writer(text))?;
        }
        text.push_str(if separator == '{' { "{}" } else { "}" });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonText, from_yaml};

    #[track_caller]
    fn yaml(text: &str, expected: &str) {
        let JsonText(json) = from_yaml(text).unwrap_or_else(|error| unreachable!("{text}: {error}"));
        assert_eq!(json, expected, "of {text}");
    }

    #[test]
    fn values_keep_their_order_and_their_digits() {
        yaml("{b: 1, a: [true, null, ~, x, '1', 1.5]}", r#"{"b":1,"a":[true,null,null,"x","1",1.5]}"#);
        yaml("{}", "{}");
        yaml("[[], {a: {}}]", r#"[[],{"a":{}}]"#);
        yaml("[18446744073709551615, -9223372036854775808]", "[18446744073709551615,-9223372036854775808]");
        yaml("[1.0, -0.0, 1e-300, 4503599627370495.5]", "[1.0,-0.0,1e-300,4503599627370495.5]");
        yaml("{1: a, true: b}", r#"{"1":"a","true":"b"}"#);
        yaml("[yes, no, on, off, true]", r#"["yes","no","on","off",true]"#);
        yaml("\"quote \\\" and\\nline\"", r#""quote \" and\nline""#);
    }

    #[test]
    fn what_json_cannot_hold_is_an_error() {
        for text in [
            ".inf",
            "-.inf",
            ".nan",
            "{a: [.inf]}",
            "18446744073709551616",
            "-9223372036854775809",
            "9007199254740991.2",
            "1e300",
            "{a: 1, a: 2}",
        ] {
            assert!(from_yaml::<JsonText>(text).is_err(), "{text}");
        }
        for text in ["a = inf", "a = nan", "a = 2026-01-01"] {
            assert!(toml::from_str::<JsonText>(text).is_err(), "{text}");
        }
    }
}
