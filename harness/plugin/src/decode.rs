//! What the counter must know about an instruction's bytes: is it a mark, is it a repeated string instruction.

/// A mark is an eight-byte no-operation whose displacement nobody writes by chance; the fifth byte says which mark.
pub fn mark_of(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [0x0f, 0x1f, 0x84, 0x00, id, 0xde, 0xc0, 0x5e] => Some(*id),
        _ => None,
    }
}

/// Whether this is a string instruction under a `rep` prefix. Under icount each of its iterations is a block of its own,
/// so these are counted apart from instructions.
pub fn is_repeated(bytes: &[u8]) -> bool {
    let mut repeat = false;
    for &byte in bytes {
        match byte {
            0xf2 | 0xf3 => repeat = true,
            // Operand size, address size, segments and REX say nothing about repetition.
            0x66 | 0x67 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x40..=0x4f => {}
            0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf => return repeat,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_recognised_by_all_its_bytes() {
        assert_eq!(mark_of(&[0x0f, 0x1f, 0x84, 0x00, 2, 0xde, 0xc0, 0x5e]), Some(2));
        assert_eq!(mark_of(&[0x0f, 0x1f, 0x84, 0x00, 2, 0xde, 0xc0, 0x5f]), None, "an ordinary long nop");
        assert_eq!(mark_of(&[0x0f, 0x1f, 0x84, 0x00]), None, "cut short");
    }

    #[test]
    fn repeated_string_instructions_are_told_from_other_uses_of_the_prefix() {
        assert!(is_repeated(&[0xf3, 0xa4]), "rep movsb");
        assert!(is_repeated(&[0xf3, 0x48, 0xab]), "rep stosq");
        assert!(is_repeated(&[0x66, 0xf3, 0xa5]), "rep movsw, prefixes the other way round");
        assert!(is_repeated(&[0xf2, 0xae]), "repne scasb");
        assert!(!is_repeated(&[0xa4]), "a single movsb");
        assert!(!is_repeated(&[0xf3, 0x90]), "pause");
        assert!(!is_repeated(&[0xf3, 0x0f, 0x10, 0x00]), "movss");
        assert!(!is_repeated(&[0xf3, 0xc3]), "rep ret");
        assert!(!is_repeated(&[]), "nothing");
    }
}
