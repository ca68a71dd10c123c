//! A share of loops that is ended later, so that thresholds can be judged.
use super::flag;
use crate::settings::amounts::Fraction;
use crate::settings::value::Kind;

topic! {
    /// A share of loops that is ended later, so that thresholds can be judged.
    LeashSettings {
        /// Give this share of new loops a long leash: the thresholds of the breaker are doubled, so that loop replay can
        /// say what higher ones would have done. Other limits stay.
        leash: Fraction {
            kind: Kind::Fraction,
            default: "0",
            flag: flag("leash", "SHARE"),
        }
    }
}
