//! Text as features: triples of letters, by their hashes.

/// Adds the triples of letters of a text to a row of zeros, and brings it to unit length.
///
/// Words are divided by all that is no letter or digit, and taken in small letters with their ends
/// marked: `red` is `^re`, `red`, `ed$`. The place of a triple is its hash (FNV-1a) modulo the
/// length of the row, its sign a bit of the hash, so that triples that fall together cancel out on
/// average. O(letters).
///
/// For names and short descriptions that share words; what a text means, an embedding tells
/// better.
pub(crate) fn add(text: &str, row: &mut [f32]) {
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let lower = word.chars().flat_map(char::to_lowercase);
        let letters: Vec<char> = std::iter::once('^').chain(lower).chain(['$']).collect();
        for triple in letters.windows(3) {
            let hash = fnv(triple);
            let at = (hash % row.len() as u64) as usize;
            row[at] += if hash >> 63 == 0 { 1.0 } else { -1.0 };
        }
    }
    let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in row.iter_mut() {
            *value /= length;
        }
    }
}

fn fnv(letters: &[char]) -> u64 {
    let bytes = letters.iter().flat_map(|&c| u32::from(c).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_share_words_are_alike() {
        let row = |text: &str| {
            let mut row = vec![0.0; 256];
            add(text, &mut row);
            row
        };
        let cosine =
            |a: &str, b: &str| -> f32 { row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum() };
        assert!((cosine("Red shirt", "red SHIRT!") - 1.0).abs() < 1e-6);
        assert!(cosine("red shirt", "blue shirt") > 0.3);
        assert!(cosine("red shirt", "garden hose").abs() < 0.3);
        assert!(row("... !").iter().all(|&v| v == 0.0));
    }
}
