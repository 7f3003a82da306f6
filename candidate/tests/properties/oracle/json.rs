//! JSON by recursive descent over characters, into a tree (7.1), and what is wanted of an object (7.2, 7.3).

use candidate::json::Kind;

/// A value. Numbers stay text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// The one value in `bytes`.
pub fn parse(bytes: &[u8]) -> Option<Value> {
    let text: Vec<char> = std::str::from_utf8(bytes).ok()?.chars().collect();
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.at == reader.text.len()).then_some(value)
}

/// For each wanted member its last value that is not null; for [`Kind::Presence`] the first, whatever it is.
/// `None` if the bytes are no object, or one with a wanted member of another type.
pub fn members(bytes: &[u8], wanted: &[(&str, Kind)]) -> Option<Vec<Option<Value>>> {
    let Value::Object(all) = parse(bytes)? else {
        return None;
    };
    let mut found = Vec::new();
    for (name, kind) in wanted {
        let mut last = None;
        for (_, value) in all.iter().filter(|(key, _)| key == name) {
            match (kind, value) {
                (Kind::Presence, _) => last = last.or(Some(value.clone())),
                (_, Value::Null) => {}
                (Kind::Text, Value::Text(_)) | (Kind::Number, Value::Number(_)) | (Kind::Flag, Value::Flag(_)) => {
                    last = Some(value.clone());
                }
                _ => return None,
            }
        }
        found.push(last);
    }
    Some(found)
}

struct Reader {
    text: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn blanks(&mut self) {
        while let Some(' ' | '\t' | '\n' | '\r') = self.peek() {
            self.at += 1;
        }
    }

    /// A value inside `depth` lists and objects.
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.peek()? {
            'n' => self.word("null", Value::Null),
            't' => self.word("true", Value::Flag(true)),
            'f' => self.word("false", Value::Flag(false)),
            '"' => self.text().map(Value::Text),
            '[' if depth < 64 => self.list(depth + 1),
            '{' if depth < 64 => self.object(depth + 1),
            '-' | '0'..='9' => self.number(),
            _ => None,
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        for letter in word.chars() {
            self.take(letter)?;
        }
        Some(value)
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        self.take('[')?;
        self.blanks();
        if self.peek()? == ']' {
            self.at += 1;
            return Some(Value::List(list));
        }
        loop {
            list.push(self.value(depth)?);
            self.blanks();
            match self.next()? {
                ',' => {}
                ']' => return Some(Value::List(list)),
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Vec::new();
        self.take('{')?;
        self.blanks();
        if self.peek()? == '}' {
            self.at += 1;
            return Some(Value::Object(members));
        }
        loop {
            self.blanks();
            let key = self.text()?;
            self.blanks();
            self.take(':')?;
            members.push((key, self.value(depth)?));
            self.blanks();
            match self.next()? {
                ',' => {}
                '}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let mut units: Vec<u16> = Vec::new();
        self.take('"')?;
        loop {
            let unit = match self.next()? {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => match self.next()? {
                    'b' => 8,
                    't' => 9,
                    'n' => 10,
                    'f' => 12,
                    'r' => 13,
                    'u' => {
                        let mut unit = 0;
                        for _ in 0..4 {
                            unit = unit * 16 + self.next()?.to_digit(16)? as u16;
                        }
                        unit
                    }
                    same @ ('"' | '\\' | '/') => same as u16,
                    _ => return None,
                },
                '\0'..='\u{1f}' => return None,
                other => {
                    units.extend_from_slice(other.encode_utf16(&mut [0; 2]));
                    continue;
                }
            };
            units.push(unit);
        }
    }

    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        if self.peek()? == '-' {
            self.at += 1;
        }
        if self.peek()? == '0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some('.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some('e' | 'E') = self.peek() {
            self.at += 1;
            if let Some('+' | '-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(Value::Number(self.text[start..self.at].iter().collect()))
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}
