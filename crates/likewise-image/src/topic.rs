//! What of this crate can be explained, but for what stands in lists.

likewise::topics! {
    "words", "bag of visual words", "words.rs";
}
