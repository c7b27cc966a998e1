//! The objects of a page: sizes, priorities, and when the browser knows each.
//!
//! `mobile` and `desktop` are home pages of median weight: HTTP Archive, Web Almanac 2025, chapter Page Weight (July 2025): mobile
//! 22 kB of HTML, 77 of CSS, 122 of fonts, 632 of scripts, 911 of images, 2.56 MB in all; desktop 2.86 MB. Requests: Web Almanac
//! 2024, the same chapter: median 66 mobile and 71 desktop, of these 8 CSS, 22 scripts, 3 fonts, 16 images and 2 documents.
//! Sizes of images by quantiles: 1, 8, 52 and 186 kB (25, 50, 75, 90 %). The rest, video and others, makes up the sum.
//!
//! ASSUMED: one host has all of it (over HTTP/2 and 3 connections coalesce). Objects of a kind but images are of one size, desktop's
//! are larger by the same factor. A quarter of the HTML refers to CSS and half of the scripts, half to images, all of it to
//! scripts at the end; fonts are known with the first style sheet, the rest with the first script. Priorities are those that
//! Chromium signals (RFC 9218 (4)): document and CSS 0, fonts and first scripts 1, images 3 and of use in part, others 4.
//! Left out: time to parse, lay out and run scripts; further hosts; caches.

use crate::registry::parameters;

/// Urgency without a signal: RFC 9218 (4.1).
pub const URGENCY: u8 = 3;
/// The least urgency of objects without which nothing is shown.
pub const BLOCKING: u8 = 1;

parameters! {
    /// Where the objects of a page come from.
    pub enum Composition {
        /// From `page`, `objects`, `object` and `sizes`.
        #[default]
        Keys,
        /// A mobile home page of median weight: HTTP Archive 2025.
        Mobile,
        /// A desktop home page of median weight: HTTP Archive 2025.
        Desktop,
    }
}

/// An object of a page; the page itself is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Size of its response, bytes.
    pub size: u64,
    /// The object that refers to it.
    pub parent: u16,
    /// It is known once so much of that has arrived, bytes.
    pub after: u64,
    /// RFC 9218 (4.1): 0 is the most urgent.
    pub urgency: u8,
    /// Whether any part is of use: RFC 9218 (4.2).
    pub incremental: bool,
}

/// HTML, bytes.
const HTML: u64 = 22_000;
/// Number of objects of each kind, bytes of each, share of the HTML in quarters after which they are known, urgency.
const KINDS: [(u16, u64, u64, u8); 3] = [
    // CSS: 77 kB.
    (8, 9_625, 1, 0),
    // Scripts: 632 kB, half in the head.
    (11, 28_727, 1, 1),
    (11, 28_727, 4, 4),
];
/// Fonts: 122 kB.
const FONTS: (u16, u64) = (3, 40_667);
/// Images: number and bytes, by quantiles; 911 kB.
const IMAGES: [(u16, u64); 5] = [(4, 1_000), (4, 8_000), (4, 52_000), (1, 109_000), (3, 186_000)];
/// The rest: number, and bytes together of a mobile page.
const OTHERS: (u16, u64) = (16, 796_000);
/// More of them on a desktop page.
const MORE_OTHERS: u16 = 5;

impl Composition {
    /// The objects of such a page; `None` if the keys have them.
    pub fn objects(self) -> Option<Vec<Object>> {
        // Desktop pages have 2.86 MB, mobile ones 2.56.
        let (scale, others) = match self {
            Self::Keys => return None,
            Self::Mobile => ((1, 1), OTHERS.0),
            Self::Desktop => ((286, 256), OTHERS.0 + MORE_OTHERS),
        };
        let scaled = |bytes: u64| bytes * scale.0 / scale.1;
        let html = scaled(HTML);
        let of_html = |size: u64, quarters: u64, urgency: u8, incremental: bool| Object {
            size: scaled(size),
            parent: 0,
            after: (html * quarters).div_ceil(4),
            urgency,
            incremental,
        };
        let mut objects = vec![Object { size: html, parent: 0, after: 0, urgency: 0, incremental: false }];
        for (count, size, quarters, urgency) in KINDS {
            objects.extend((0..count).map(|_| of_html(size, quarters, urgency, false)));
        }
        let (style, script) = (1, 1 + KINDS[0].0);
        let behind = |parent: u16, size: u64, urgency: u8, known: &[Object]| Object {
            size,
            parent,
            after: known[usize::from(parent)].size,
            urgency,
            incremental: false,
        };
        for _ in 0..FONTS.0 {
            objects.push(behind(style, scaled(FONTS.1), BLOCKING, &objects));
        }
        for (count, size) in IMAGES {
            objects.extend((0..count).map(|_| of_html(size, 2, URGENCY, true)));
        }
        for _ in 0..others {
            objects.push(behind(script, scaled(OTHERS.1) / u64::from(others), URGENCY + 1, &objects));
        }
        Some(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_have_the_weight_and_the_requests_of_their_sources() {
        for (composition, megabytes, requests) in
            [(Composition::Mobile, 2.56, 66), (Composition::Desktop, 2.86, 71)]
        {
            let objects = composition.objects().unwrap_or_default();
            let bytes: u64 = objects.iter().map(|object| object.size).sum();
            assert!((bytes as f64 / 1e6 - megabytes).abs() < 0.01, "{bytes}");
            assert_eq!(objects.len(), requests);
            for (number, object) in objects.iter().enumerate().skip(1) {
                assert!(usize::from(object.parent) < number);
                assert!((1..=objects[usize::from(object.parent)].size).contains(&object.after));
            }
        }
    }
}
