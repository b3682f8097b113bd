//! The canonical form of a call's arguments (C1 to C7).
//!
//! The text is read once. What is not canonical as it stands is written to a buffer as it is read; members of an
//! object are put in order afterwards, and only where they are out of order.

mod key;
mod number;
mod omitted;
mod order;
mod scanner;
mod sort;
mod string;

pub use key::{Key, KeyBuffer};
pub use number::Number;
pub use omitted::{MemberNames, Omitted};
pub use scanner::{Invalid, MAX_DEPTH, Reason};
pub use string::quoted;

use key::Digest;
use scanner::{Member, Scanner};

/// Buffers larger than this are given back after use, in bytes.
const KEPT_CAPACITY: usize = 1 << 20;

/// How much of a long malformed text is escaped at a time, in bytes.
const ESCAPED_AT_ONCE: usize = 1 << 16;

/// Computes canonical forms. It holds nothing but buffers, which are used again.
#[derive(Debug, Default)]
pub struct Canonicalizer {
    buffers: Buffers,
    key: KeyBuffer,
}

#[derive(Debug, Default)]
struct Buffers {
    written: Vec<u8>,
    members: Vec<Member>,
    reordered: Vec<u8>,
}

impl Canonicalizer {
    /// The canonical text of `arguments`: valid JSON, whatever the input.
    pub fn text(&mut self, arguments: &str) -> String {
        let text = match self.buffers.scan(arguments, Omitted::Nothing) {
            Ok(canonical) => canonical.to_vec(),
            Err(_) => string::quoted(arguments),
        };
        self.buffers.shrink();
        String::from_utf8(text).unwrap_or_default()
    }

    /// The key of a call: of its tool and its arguments without the members that are left out.
    pub fn call(&mut self, tool: &str, arguments: &str, omitted: Omitted<'_>) -> &KeyBuffer {
        match self.buffers.scan(arguments, omitted) {
            Ok(canonical) => self.key.set(tool, canonical),
            Err(_) if key::is_long(tool, arguments.as_bytes()) => {
                self.buffers.digest_as_string(tool, arguments, &mut self.key);
            }
            Err(_) => self.key.set(tool, &string::quoted(arguments)),
        }
        self.buffers.shrink();
        &self.key
    }

    /// The key of a call's outcome. A content that is no JSON that can be read counts as it stands, and so does any if no member is left
    /// out.
    pub fn outcome(&mut self, status: &str, content: &str, omitted: Omitted<'_>) -> &KeyBuffer {
        let canonical = match omitted {
            Omitted::Nothing => None,
            Omitted::AtTop(_) | Omitted::Anywhere(_) => self.buffers.scan_json(content, omitted).ok(),
        };
        self.key.set(status, canonical.unwrap_or(content.as_bytes()));
        self.buffers.shrink();
        &self.key
    }
}

impl Buffers {
    /// The canonical text of valid JSON, and of no text (C1, C2).
    fn scan<'a>(&'a mut self, arguments: &'a str, omitted: Omitted<'a>) -> Result<&'a [u8], Invalid> {
        if arguments.is_empty() { Ok(b"{}") } else { self.scan_json(arguments, omitted) }
    }

    /// The canonical text of valid JSON (C2).
    fn scan_json<'a>(&'a mut self, text: &'a str, omitted: Omitted<'a>) -> Result<&'a [u8], Invalid> {
        Scanner::new(text, &mut self.written, &mut self.members, &mut self.reordered, omitted).scan()
    }

    /// C3. Escapes can make a text six times as long; here it is never needed as a whole.
    fn digest_as_string(&mut self, tool: &str, text: &str, key: &mut KeyBuffer) {
        let mut digest = Digest::default();
        digest.update(b"\"");
        for chunk in text.as_bytes().chunks(ESCAPED_AT_ONCE) {
            self.written.clear();
            string::escape(chunk, &mut self.written);
            digest.update(&self.written);
        }
        digest.update(b"\"");
        digest.finish(tool, key);
    }

    /// Empties the buffers after use, and gives back what is large of them.
    fn shrink(&mut self) {
        self.written.clear();
        self.members.clear();
        self.reordered.clear();
        self.written.shrink_to(KEPT_CAPACITY);
        self.members.shrink_to(KEPT_CAPACITY / size_of::<Member>());
        self.reordered.shrink_to(KEPT_CAPACITY);
    }
}

/// Whether a text is JSON that can be read.
///
/// # Errors
///
/// Where it is not, and why.
pub fn check(text: &str) -> Result<(), Invalid> {
    Buffers::default().scan_json(text, Omitted::Nothing).map(|_| ())
}

/// The value of a JSON string that can be read and has no space around it; none of another value.
pub fn string(text: &str) -> Option<String> {
    let written = text.strip_prefix('"')?.strip_suffix('"')?;
    if string::plain_run(written.as_bytes()) == written.len() {
        return Some(written.to_owned());
    }
    let mut buffers = Buffers::default();
    let inside = buffers.scan_json(text, Omitted::Nothing).ok()?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    String::from_utf8(string::unescape(inside)).ok()
}

#[cfg(test)]
mod tests {
    use super::{Canonicalizer, Key, MemberNames, Omitted};

    /// The key of a call.
    fn key(tool: &str, arguments: &str) -> Key {
        Canonicalizer::default().call(tool, arguments, Omitted::Nothing).to_key()
    }

    fn names(names: &[&str]) -> MemberNames {
        let mut list = MemberNames::default();
        names.iter().for_each(|name| list.push(name));
        list
    }

    #[test]
    fn b4_members_at_the_top_are_left_out() {
        let names = names(&["head_limit", "é\""]);
        let key_without = |text: &str| Canonicalizer::default().call("t", text, Omitted::AtTop(&names)).to_key();
        for text in [
            r#"{"p":1,"head_limit":5}"#,
            r#"{"head_limit":{"p":2},"p":1}"#,
            r#"{ "\u00e9\"" : [1] , "p" : 1.0 , "head_limit" : 5 }"#,
            r#"{"head_limit":1,"head_limit":2,"p":1}"#,
        ] {
            assert_eq!(key_without(text), key("t", r#"{"p":1}"#), "of {text}");
        }
        assert_eq!(key_without(r#"{"head_limit":1}"#), key("t", "{}"));
        assert_eq!(key_without(r#"[{"head_limit":1}]"#), key("t", r#"[{"head_limit":1}]"#));
        assert_eq!(key_without(r#"{"a":{"head_limit":1},"p":1}"#), key("t", r#"{"a":{"head_limit":1},"p":1}"#));
    }

    #[test]
    fn b1_members_of_results_are_left_out_at_any_depth() {
        let names = names(&["id"]);
        let outcome =
            |status: &str, content: &str, omitted| Canonicalizer::default().outcome(status, content, omitted).to_key();
        let without = |content: &str| outcome("failed", content, Omitted::Anywhere(&names));
        assert_eq!(without(r#"{"ok":true,"id":1}"#), without(r#"{"id":2,"ok":true}"#));
        assert_eq!(without(r#"[{"a":{"id":1,"b":[{"id":2}]}}]"#), without(r#"[{"a":{"b":[{}]}}]"#));
        assert_ne!(without(r#"{"ok":true,"id":1}"#), without(r#"{"id":1,"ok":false}"#));
        // What is no JSON counts as it stands.
        assert_eq!(without("id: 1"), without("id: 1"));
        assert_ne!(without("id: 1"), without("id: 2"));
        assert_ne!(outcome("failed", "x", Omitted::Nothing), outcome("denied", "x", Omitted::Nothing));
        assert_ne!(outcome("failed", "1", Omitted::Nothing), outcome("failed", "1.0", Omitted::Nothing));
    }

    #[track_caller]
    fn check(cases: &[(&str, &str)]) {
        let mut canonicalizer = Canonicalizer::default();
        for (text, expected) in cases {
            assert_eq!(canonicalizer.text(text), *expected, "of {text:?}");
            assert_eq!(key("tool", text), key("tool", expected), "key of {text:?} and of its canonical text");
        }
    }

    #[test]
    fn c1_empty_text_is_an_empty_object_and_white_space_is_invalid() {
        check(&[("", "{}"), (" ", r#"" ""#), ("\n\t", r#""\n\t""#)]);
    }

    #[test]
    fn c2_members_are_sorted_at_every_depth_and_arrays_keep_their_order() {
        check(&[
            (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            (
                "{ \"b\" : [ 3 , 1 , 2 ] ,\r\n\t\"a\" : { \"d\" : null, \"c\" : true } }",
                r#"{"a":{"c":true,"d":null},"b":[3,1,2]}"#,
            ),
            (r#"[{"b":{"z":1,"y":[{"x":1,"w":2}]},"a":false}]"#, r#"[{"a":false,"b":{"y":[{"w":2,"x":1}],"z":1}}]"#),
            ("[]", "[]"),
            (" { } ", "{}"),
            (r#"{"a":{},"":[]}"#, r#"{"":[],"a":{}}"#),
            (r#"{"10":1,"9":2,"1":3}"#, r#"{"1":3,"10":1,"9":2}"#),
        ]);
    }

    #[test]
    fn c2_members_are_sorted_by_utf16_code_units() {
        // U+FF61 comes before U+1F600 as a code point, and after it as UTF-16 (D83D DE00).
        check(&[
            ("{\"\u{ff61}\":1,\"\u{1f600}\":2}", "{\"\u{1f600}\":2,\"\u{ff61}\":1}"),
            ("{\"\u{1f600}\":1,\"\u{d7ff}\":2}", "{\"\u{d7ff}\":2,\"\u{1f600}\":1}"),
            (r#"{"a\u0000":1,"a":2,"a\n":3,"a ":4}"#, r#"{"a":2,"a\u0000":1,"a\n":3,"a ":4}"#),
            (r#"{"]":1,"\\":2,"[":3,"\"":4,"!":5,"\u001f":6}"#, r#"{"\u001f":6,"!":5,"\"":4,"[":3,"\\":2,"]":1}"#),
        ]);
        // The example of RFC 8785, section 3.2.3.
        check(&[(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        )]);
    }

    #[test]
    fn c2_the_last_of_duplicate_members_wins() {
        check(&[
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1,"b":2,"\u0061":3}"#, r#"{"a":3,"b":2}"#),
            (r#"{"b":1,"a":2,"b":3,"a":4,"b":5}"#, r#"{"a":4,"b":5}"#),
            (r#"[{"a":[1,2,3],"a":0},7]"#, r#"[{"a":0},7]"#),
        ]);
    }

    #[test]
    fn c2_strings_compare_by_value() {
        check(&[
            (r#""\u0041\/\u00e9\ud83d\ude00""#, "\"A/é😀\""),
            (r#""\u0008\u0009\u000a\u000c\u000d\u000B\u001F\u007f""#, "\"\\b\\t\\n\\f\\r\\u000b\\u001f\u{7f}\""),
            (r#""\"\\\b""#, r#""\"\\\b""#),
            (r#""\u0022\u005C""#, r#""\"\\""#),
            ("\"\u{2028}\"", "\"\u{2028}\""),
        ]);
    }

    #[test]
    fn c3_invalid_json_is_a_string_of_its_text() {
        check(&[
            ("{a:1}", r#""{a:1}""#),
            (r#"{"a":1"#, r#""{\"a\":1""#),
            (r#"{"a":1}x"#, r#""{\"a\":1}x""#),
            ("{} {}", r#""{} {}""#),
            ("[1,]", r#""[1,]""#),
            ("[,1]", r#""[,1]""#),
            ("{,}", r#""{,}""#),
            (r#"{"a":1,}"#, r#""{\"a\":1,}""#),
            (r#"{"a" 1}"#, r#""{\"a\" 1}""#),
            ("[1 2]", r#""[1 2]""#),
            ("]", r#""]""#),
            ("'a'", r#""'a'""#),
            ("\"a\nb\"", r#""\"a\nb\"""#),
            (r#""\x41""#, r#""\"\\x41\"""#),
            (r#""\u00g0""#, r#""\"\\u00g0\"""#),
            (r#""\u00""#, r#""\"\\u00\"""#),
            (r#""open"#, r#""\"open""#),
            (r#""\"#, r#""\"\\""#),
            ("True", r#""True""#),
            ("nul", r#""nul""#),
            ("truefalse", r#""truefalse""#),
            ("NaN", r#""NaN""#),
            ("\u{feff}{}", "\"\u{feff}{}\""),
            ("{}\u{a0}", "\"{}\u{a0}\""),
            ("\u{0}", r#""\u0000""#),
        ]);
        let long = "\u{1}é".repeat(100_000);
        assert_eq!(key("t", &long), key("t", &format!("\"{}\"", "\\u0001é".repeat(100_000))),);
    }

    #[test]
    fn c4_numbers_compare_by_exact_value() {
        check(&[
            ("[1,1.0,1e0,10e-1,0.1e1,1E+0]", "[1,1,1,1,1,1]"),
            ("[0,-0,0.0,-0e5,0e-999]", "[0,0,0,0,0]"),
            ("[9007199254740992,9007199254740993]", "[9007199254740992,9007199254740993]"),
            ("[-1.50,-15e-1]", "[-1.5,-1.5]"),
        ]);
    }

    #[test]
    fn c5_any_member_name_is_legal() {
        check(&[(
            r#"{"toString":1,"constructor":2,"__proto__":{"b":1,"a":2},"":3}"#,
            r#"{"":3,"__proto__":{"a":2,"b":1},"constructor":2,"toString":1}"#,
        )]);
    }

    #[test]
    fn c6_text_nested_deeper_than_127_levels_is_invalid() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let objects = |levels: usize| "{\"a\":".repeat(levels) + "0" + &"}".repeat(levels);
        check(&[
            (&nested(127), &nested(127)),
            (&nested(128), &format!("\"{}\"", nested(128))),
            (&objects(127), &objects(127)),
            (&objects(128), &format!("\"{}\"", objects(128).replace('"', "\\\""))),
        ]);
        let million = "[".repeat(1_000_000);
        check(&[(&million, &format!("\"{million}\""))]);
    }

    #[test]
    fn c7_an_escape_for_a_lone_surrogate_makes_the_text_invalid() {
        check(&[
            (r#""\ud800""#, r#""\"\\ud800\"""#),
            (r#""\udc00""#, r#""\"\\udc00\"""#),
            (r#""\ud83d\u0041""#, r#""\"\\ud83d\\u0041\"""#),
            (r#""\ud83d\ud83d""#, r#""\"\\ud83d\\ud83d\"""#),
            (r#""\ud83dx""#, r#""\"\\ud83dx\"""#),
            (r#"{"\ude00":1}"#, r#""{\"\\ude00\":1}""#),
        ]);
    }

    #[test]
    fn large_buffers_are_given_back() {
        let mut canonicalizer = Canonicalizer::default();
        canonicalizer.call("t", &format!("\"\\/{}\"", "a".repeat(8 << 20)), Omitted::Nothing);
        assert!(canonicalizer.buffers.written.capacity() <= super::KEPT_CAPACITY);
    }
}
