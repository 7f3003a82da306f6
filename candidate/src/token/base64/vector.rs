//! base64url by AVX2: 32 characters or 24 bytes at a time, the last ones among padding. Classification and packing follow
//! W. Muła and D. Lemire, "Faster Base64 Encoding and Decoding using AVX2 Instructions" (2018), with the alphabet of URLs.

use std::arch::x86_64::*;

use super::VALUES;

/// Characters that are coded together.
const CHARACTERS: usize = 32;
/// The bytes they stand for.
const BYTES: usize = 24;

/// Appends `bytes` to `out`, encoded.
#[target_feature(enable = "avx2")]
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let groups = bytes.len().div_ceil(BYTES);
    let length = (bytes.len() * 4).div_ceil(3);
    out.reserve(groups * CHARACTERS);
    let start = out.len();
    for (group, part) in bytes.chunks(BYTES).enumerate() {
        let mut padded = [0; BYTES];
        let part = match part.first_chunk() {
            Some(whole) => whole,
            None => {
                padded[..part.len()].copy_from_slice(part);
                &padded
            }
        };
        let characters = encode_group(part);
        // SAFETY: there is room for as many groups as there are.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(start + group * CHARACTERS).cast(), characters) };
    }
    // SAFETY: the groups written hold at least as many characters; those of the padding stay behind the end.
    unsafe { out.set_len(start + length) };
}

/// Appends the bytes that `text` stands for to `out`; `None` if it is not the one text of any.
#[target_feature(enable = "avx2")]
pub fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let spare = match (text.len() % 4, text.last()) {
        (1, _) => return None,
        (2, Some(last)) => VALUES[usize::from(*last)] & 15,
        (3, Some(last)) => VALUES[usize::from(*last)] & 3,
        _ => 0,
    };
    if spare != 0 {
        return None;
    }
    let groups = text.len().div_ceil(CHARACTERS);
    out.reserve(groups * CHARACTERS);
    let start = out.len();
    let mut bad = _mm256_setzero_si256();
    for (group, part) in text.chunks(CHARACTERS).enumerate() {
        let mut padded = [b'A'; CHARACTERS];
        let part = match part.first_chunk() {
            Some(whole) => whole,
            None => {
                padded[..part.len()].copy_from_slice(part);
                &padded
            }
        };
        let (bytes, strangers) = decode_group(part);
        bad = _mm256_or_si256(bad, strangers);
        // SAFETY: there is room for a whole vector behind the bytes of the groups before.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(start + group * BYTES).cast(), bytes) };
    }
    if _mm256_testz_si256(bad, bad) == 0 {
        return None;
    }
    // SAFETY: the groups written hold at least as many bytes; those of the padding stay behind the end.
    unsafe { out.set_len(start + text.len() * 3 / 4) };
    Some(())
}

/// 16 values for each half of a vector.
#[target_feature(enable = "avx2")]
fn twice(values: [i8; 16]) -> __m256i {
    // SAFETY: there are 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(values.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn encode_group(bytes: &[u8; BYTES]) -> __m256i {
    let mut whole = [0; CHARACTERS];
    whole[..BYTES].copy_from_slice(bytes);
    // SAFETY: there are 32 bytes.
    let bytes = unsafe { _mm256_loadu_si256(whole.as_ptr().cast()) };
    // Twelve bytes to each half, then for each three of them a word b, a, c, b.
    let halves = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6));
    let words = _mm256_shuffle_epi8(halves, twice([1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10]));
    // Four times six bits of each word, moved to the low ends of its bytes by multiplication.
    let high = _mm256_and_si256(words, _mm256_set1_epi32(0x0fc0_fc00));
    let high = _mm256_mulhi_epu16(high, _mm256_set1_epi32(0x0400_0040));
    let low = _mm256_and_si256(words, _mm256_set1_epi32(0x003f_03f0));
    let low = _mm256_mullo_epi16(low, _mm256_set1_epi32(0x0100_0010));
    let values = _mm256_or_si256(high, low);
    // What is to be added, by a number for each range: 13 for capitals, 0 for small letters, 1 to 10 for digits, 11, 12.
    let range = _mm256_subs_epu8(values, _mm256_set1_epi8(51));
    let capital = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
    let range = _mm256_or_si256(range, _mm256_and_si256(capital, _mm256_set1_epi8(13)));
    let add = twice([71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -17, 32, 65, 0, 0]);
    _mm256_add_epi8(values, _mm256_shuffle_epi8(add, range))
}

/// The bytes, in the low 24 of the vector, and what is not zero where a character is none of the alphabet.
#[target_feature(enable = "avx2")]
fn decode_group(text: &[u8; CHARACTERS]) -> (__m256i, __m256i) {
    // SAFETY: there are 32 bytes.
    let text = unsafe { _mm256_loadu_si256(text.as_ptr().cast()) };
    let nibbles = _mm256_set1_epi8(15);
    let upper = _mm256_and_si256(_mm256_srli_epi32::<4>(text), nibbles);
    // A bit for each upper half of a character, and for each lower half those with which it makes no character.
    let rows = twice(ROWS);
    let strangers = _mm256_and_si256(
        _mm256_shuffle_epi8(rows, upper),
        _mm256_shuffle_epi8(twice(STRANGERS), _mm256_and_si256(text, nibbles)),
    );
    // From a character to its value by its upper half, but for the underline, which has that of capitals.
    let add = twice([0, 0, 17, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0]);
    let underline = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'_' as i8));
    let values = _mm256_add_epi8(text, _mm256_shuffle_epi8(add, upper));
    let values = _mm256_add_epi8(values, _mm256_and_si256(underline, _mm256_set1_epi8(33)));
    // Six bits to twelve to twenty-four, then the three bytes of each word in their order, then both halves together.
    let twelve = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x0140_0140));
    let words = _mm256_madd_epi16(twelve, _mm256_set1_epi32(0x0001_1000));
    let bytes = _mm256_shuffle_epi8(words, twice([2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1]));
    (_mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7)), strangers)
}

/// The bit of each upper half: those of 2 to 7 have one of their own, all others, of which no character is, share one.
const ROWS: [i8; 16] = [64, 64, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64, 64, 64];

/// For each lower half the bits of the upper halves with which it makes no character.
const STRANGERS: [i8; 16] = {
    let mut strangers = [64; 16];
    let mut byte = 0x20;
    while byte < 0x80 {
        if VALUES[byte] == super::BAD {
            strangers[byte & 15] |= ROWS[byte >> 4];
        }
        byte += 1;
    }
    strangers
};
