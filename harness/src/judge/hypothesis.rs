//! A proposer's words made safe to keep: one line, bounded, nothing in it that a terminal, a commit message, the ledger
//! or a later prompt would take for more than text. What the words *say* is never judged.

/// Longest hypothesis that is kept, in characters.
pub const LONGEST: usize = 500;

/// One bounded line of visible characters. Line ends and other control characters become spaces, so the text can begin
/// no line of its own: no trailer, no ledger line, no heading.
pub fn clean(text: &str) -> String {
    // A megabyte is cut before it is looked at.
    let mut words = String::new();
    let mut cut = false;
    let mut kept = 0;
    let mut gap = false;
    for letter in text.chars().take(LONGEST * 20) {
        if letter.is_control() || letter.is_whitespace() {
            gap = !words.is_empty();
            continue;
        }
        if is_invisible(letter) {
            continue;
        }
        let wanted = 1 + usize::from(gap);
        if kept + wanted > LONGEST - 1 {
            cut = true;
            break;
        }
        if gap {
            words.push(' ');
        }
        words.push(letter);
        kept += wanted;
        gap = false;
    }
    if words.is_empty() {
        return "(no hypothesis was given)".to_owned();
    }
    if cut {
        words.push('…');
    }
    words
}

/// Characters that reorder or hide text: bidirectional controls, zero widths, line separators, tags.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_forged_trailer_or_ledger_line_is_only_words_in_a_line() {
        assert_eq!(clean("faster\n\nAttempt: 9\r\nGain: +50%"), "faster Attempt: 9 Gain: +50%");
        assert_eq!(clean("x\u{2028}{\"event\":\"promoted\"}\u{85}y"), "x {\"event\":\"promoted\"} y");
    }

    #[test]
    fn escapes_and_text_that_reads_backwards_are_removed() {
        assert_eq!(clean("\u{1b}[2J\u{7}hello\u{202e}dlrow\u{200b}"), "[2J hellodlrow");
    }

    #[test]
    fn a_megabyte_is_cut_and_says_so() {
        let clean = clean(&"word ".repeat(200_000));
        assert!(clean.chars().count() <= LONGEST && clean.ends_with('…'));
    }

    #[test]
    fn nothing_said_is_said() {
        for text in ["", " \n\t", "\u{200b}", "\0"] {
            assert_eq!(clean(text), "(no hypothesis was given)", "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_in_one_bounded_clean_line_comes_out(text in "\\PC*|(?s:.{0,2000})") {
            let once = clean(&text);
            prop_assert!(once.chars().count() <= LONGEST && !once.is_empty());
            prop_assert!(once.chars().all(|letter| !letter.is_control() && !is_invisible(letter)));
            prop_assert_eq!(once.lines().count(), 1);
            prop_assert_eq!(clean(&once), once.clone());
        }
    }
}
