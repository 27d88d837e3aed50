//! How much work that is of no use a peer may make before that is abuse.

/// Budgets against abuse, one set for each connection. Part of [`Config`](crate::Config).
///
/// Each counts one kind of thing that costs us work or memory and carries nobody's call. A budget that is used up ends the connection:
/// the peer gets GOAWAY(ENHANCE_YOUR_CALM) with the budget's name as its debug text (RFC 9113 §10.5), calls that it never reached
/// may be tried again elsewhere. The defaults are far above what well-behaved peers do, also when they cancel a lot. Raise a budget when a
/// peer that you know is ended by it; lower it only with a measured reason.
///
/// A budget with a rate is a bucket: the burst is there at first, and so much comes back each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Streams that the peer resets before it was answered, or makes us reset by a fault, or opens above its limit, at once; a call that
    /// ends well gives one back. Default 1,000. Debug text `too_many_resets`. Against rapid reset (CVE-2023-44487) and MadeYouReset (CVE-2025-8671).
    /// A client that cancels thousands of calls at once needs more.
    pub reset_burst: u32,
    /// Of these, how many come back each second. Default 33.
    pub resets_per_second: u32,
    /// Frames that mean nothing to us, at once: PRIORITY, unknown types, frames for streams that are gone, informational (1xx) heads.
    /// A call that ends gives two back: they may cross its end. Default 10,000. Debug text `too_many_useless_frames`.
    pub useless_burst: u32,
    /// Of these, how many come back each second. Default 330.
    pub useless_per_second: u32,
    /// SETTINGS frames after the first, at once. Default 100. Debug text `too_many_settings`. Against CVE-2019-9515.
    pub settings_burst: u32,
    /// Of these, how many come back each second. Default 1.
    pub settings_per_second: u32,
    /// Octets by which DATA frames may fall short of 256 each, all together; longer frames and whole messages give back. Default 25,600.
    /// Beyond it, they pass where the application waits for the message, whose size bounds them.
    /// Debug text `too_many_short_data_frames`. Against data dribbled into a message that never ends (RUSTSEC-2026-0258).
    pub short_data: u32,
    /// DATA frames without an octet, between two that carry some. Default 100. Debug text `too_many_empty_data_frames`.
    /// Against CVE-2019-9518.
    pub empty_data: u32,
    /// WINDOW_UPDATE frames that need no reason. Default 1,000. Debug text `too_many_window_updates`.
    pub window_updates: u32,
    /// WINDOW_UPDATE frames more for each stream that the peer opens and each frame of ours that carries headers or data. Default 10.
    pub window_updates_per_frame: u32,
    /// Answers (acknowledgements, resets) that the peer leaves unread before we stop reading from it; the transport's write timeout
    /// then ends it, or it reads. Default 50.
    pub unread_answers: u32,
    /// Answers left unread that end the connection. One read may still add some after reading was stopped. Default 1,000. Debug text
    /// `too_many_unread_answers`. Against CVE-2019-9512 and CVE-2019-9514.
    pub max_unread_answers: u32,
    /// CONTINUATION frames of one header block; more where `max_header_list` needs more. Default 8. Debug text
    /// `too_many_continuations`. Against the CONTINUATION flood (VU#421644).
    pub continuations: u32,
    /// How many times larger than `max_header_list` a header list may be, on the wire or decoded, before not only its call ends but the
    /// connection. Until then it is decoded to its end, so that the tables stay in step. Default 4. Debug text
    /// `header_block_too_large` or `header_list_too_large`.
    pub header_list_excess: u32,
}

impl Limits {
    /// The defaults, which the fields name.
    pub const DEFAULT: Self = Self {
        reset_burst: 1_000,
        resets_per_second: 33,
        useless_burst: 10_000,
        useless_per_second: 330,
        settings_burst: 100,
        settings_per_second: 1,
        short_data: 25_600,
        empty_data: 100,
        window_updates: 1_000,
        window_updates_per_frame: 10,
        unread_answers: 50,
        max_unread_answers: 1_000,
        continuations: 8,
        header_list_excess: 4,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
