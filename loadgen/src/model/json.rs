//! How the server must write a JSON string (contract 7.4). Reading JSON is not needed: what is sent is written here.

/// The string in double quotes, with exactly the escapes the contract names.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn only_the_named_characters_are_escaped() {
        assert_eq!(
            quote("\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}/\u{2028}<>&'\"\\ö😀"),
            "\"\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}/\\u2028\\u003c\\u003e\\u0026'\\\"\\\\ö😀\""
        );
    }
}
