//! Base64 with padding. Both alphabets are read; the usual one is written.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS.get(usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or(0)).copied().unwrap_or(b'=');
            out.push(if usize::try_from(at).unwrap_or(0) > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

/// The bytes of a text; none where it is not base64. Padding may be left out, and nothing may stand between.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 2 || padding > 0 && !text.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            bits = bits << 6 | chunk.get(at).map_or(Some(0), |letter| value(*letter))?;
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        let count = chunk.len() - 1;
        let (written, rest) = bytes.split_at_checked(count)?;
        // Bits that belong to no byte must be zero: one text for one sequence of bytes.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(written);
    }
    Some(out)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_standard_are_read_and_written() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        assert_eq!(decode("-_-_"), decode("+/+/"));
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for text in ["Z", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n", "Zm9v====", "=", "Zg==Zg=="] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
