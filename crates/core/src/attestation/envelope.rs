//! A DSSE envelope: the statement as it was written, and its signatures. Everything read here is untrusted input.
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::base64;

/// What the payload is.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// A longer proof is not read.
pub const PROOF_BYTES_MAX: usize = 1024 * 1024;
/// More signatures are not looked at.
pub const SIGNATURES_MAX: usize = 8;
/// A longer signature is none.
const SIGNATURE_BYTES_MAX: usize = 16 * 1024;

/// A statement and its signatures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The bytes of the statement.
    pub payload: Vec<u8>,
    /// Its signatures.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeSignature {
    /// What the envelope says about the key. Nothing depends on it.
    pub key: String,
    /// The signature: the armored text of `ssh-keygen`.
    pub signature: Vec<u8>,
}

/// Why something is not a proof.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FormError {
    /// It is too long.
    #[error("it is longer than {PROOF_BYTES_MAX} bytes")]
    TooLong,
    /// It is not an envelope.
    #[error("it is not a DSSE envelope: {0}")]
    NotEnvelope(String),
    /// It is an envelope of something else.
    #[error("{0}")]
    NotProof(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<WrittenSignature>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSignature {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    keyid: String,
    sig: String,
}

impl Envelope {
    /// From one line, or a file with nothing else in it.
    ///
    /// # Errors
    /// When it is too long, or no envelope of a statement.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormError> {
        if bytes.len() > PROOF_BYTES_MAX {
            return Err(FormError::TooLong);
        }
        let odd = |why: &str| FormError::NotEnvelope(why.to_owned());
        let written: WrittenEnvelope = serde_json::from_slice(bytes.trim_ascii())
            .map_err(|error| odd(&crate::text::one_line(&error.to_string(), 160)))?;
        if written.payload_type != PAYLOAD_TYPE {
            let kind = crate::text::escaped_head(&written.payload_type, 80);
            return Err(FormError::NotProof(format!("it holds {kind}, not an in-toto statement")));
        }
        if written.signatures.len() > SIGNATURES_MAX {
            return Err(odd(&format!("it has more than {SIGNATURES_MAX} signatures")));
        }
        let payload = base64::decode(&written.payload).ok_or_else(|| odd("its payload is not base64"))?;
        let signature = |written: WrittenSignature| {
            let signature = base64::decode(&written.sig).filter(|bytes| bytes.len() <= SIGNATURE_BYTES_MAX);
            let signature = signature.ok_or_else(|| odd("a signature is not base64, or too long"))?;
            Ok(EnvelopeSignature { key: written.keyid, signature })
        };
        let signatures = written.signatures.into_iter().map(signature).collect::<Result<_, _>>()?;
        Ok(Self { payload, signatures })
    }

    /// The envelope as one line, without the line's end.
    #[must_use]
    pub fn to_line(&self) -> String {
        let signature = |signature: &EnvelopeSignature| WrittenSignature {
            keyid: signature.key.clone(),
            sig: base64::encode(&signature.signature),
        };
        let written = WrittenEnvelope {
            payload: base64::encode(&self.payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: self.signatures.iter().map(signature).collect(),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// The bytes that are signed: the type and the payload, each with its length before it.
    #[must_use]
    pub fn signed_bytes(&self) -> Vec<u8> {
        let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), self.payload.len());
        [head.as_bytes(), &self.payload].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> Envelope {
        let signature = EnvelopeSignature { key: "SHA256:x".to_owned(), signature: b"armored".to_vec() };
        Envelope { payload: b"{\"a\":1}".to_vec(), signatures: vec![signature] }
    }

    #[test]
    fn an_envelope_is_read_back() {
        assert_eq!(Envelope::parse(envelope().to_line().as_bytes()), Ok(envelope()));
        let line = format!("\n {}\r\n", envelope().to_line());
        assert_eq!(Envelope::parse(line.as_bytes()), Ok(envelope()), "white space around it");
    }

    #[test]
    fn the_signed_bytes_are_those_of_the_dsse_standard() {
        let signed = envelope().signed_bytes();
        assert_eq!(String::from_utf8_lossy(&signed), "DSSEv1 28 application/vnd.in-toto+json 7 {\"a\":1}");
    }

    #[test]
    fn what_is_not_an_envelope_is_refused_with_a_reason() {
        let cases: [(&[u8], &str); 7] = [
            (b"", "not a DSSE envelope"),
            (b"\xff\x00", "not a DSSE envelope"),
            (b"[]", "not a DSSE envelope"),
            (br#"{"payload":"","payloadType":"text/plain\u001b","signatures":[]}"#, r"holds text/plain\x1b"),
            (br#"{"payload":"?","payloadType":"application/vnd.in-toto+json","signatures":[]}"#, "not base64"),
            (
                br#"{"payload":"","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"?"}]}"#,
                "a signature is not base64",
            ),
            (
                br#"{"payload":"","payload":"","payloadType":"application/vnd.in-toto+json","signatures":[]}"#,
                "duplicate field",
            ),
        ];
        for (bytes, why) in cases {
            let error = Envelope::parse(bytes).expect_err("it is not an envelope").to_string();
            assert!(error.contains(why), "{error}");
        }
        let signature = r#"{"sig":""}"#;
        let many =
            format!(r#"{{"payload":"","payloadType":"{PAYLOAD_TYPE}","signatures":[{}]}}"#, [signature; 9].join(","));
        assert!(Envelope::parse(many.as_bytes()).is_err_and(|error| error.to_string().contains("more than 8")));
        assert_eq!(Envelope::parse(&vec![b'['; PROOF_BYTES_MAX + 1]), Err(FormError::TooLong));
        assert!(Envelope::parse(&vec![b'['; PROOF_BYTES_MAX]).is_err());
    }
}
