//! The stream of an exec without a terminal: frames with a header of eight bytes and a payload, so that stdout and
//! stderr can be separated.

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Out,
    Err,
}

/// The stream as it comes in, cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: Vec<u8>,
    channel: Option<Channel>,
    /// How much of the frame's payload is still to come.
    left: usize,
}

/// It is not such a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoFrame;

const HEAD_BYTES: usize = 8;

impl Frames {
    /// Takes in bytes and passes on the payload.
    pub(super) fn push(&mut self, mut bytes: &[u8], out: &mut dyn FnMut(Channel, &[u8])) -> Result<(), NoFrame> {
        while !bytes.is_empty() {
            if self.left == 0 {
                let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
                self.head.extend_from_slice(head);
                bytes = rest;
                if self.head.len() == HEAD_BYTES {
                    self.begin()?;
                }
                continue;
            }
            let (payload, rest) = bytes.split_at(bytes.len().min(self.left));
            self.left -= payload.len();
            bytes = rest;
            if let Some(channel) = self.channel {
                out(channel, payload);
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), NoFrame> {
        let head = std::mem::take(&mut self.head);
        let [kind, 0, 0, 0, length @ ..] = head.as_slice() else { return Err(NoFrame) };
        // Zero is stdin, which an engine may write back and which is not needed.
        self.channel = match kind {
            0 => None,
            1 => Some(Channel::Out),
            2 => Some(Channel::Err),
            _ => return Err(NoFrame),
        };
        let length: [u8; 4] = length.try_into().map_err(|_| NoFrame)?;
        self.left = usize::try_from(u32::from_be_bytes(length)).map_err(|_| NoFrame)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[kind, 0, 0, 0], length.as_slice(), text.as_bytes()].concat()
    }

    fn read(pieces: &[&[u8]]) -> Result<(String, String), NoFrame> {
        let mut frames = Frames::default();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for piece in pieces {
            frames.push(piece, &mut |channel, bytes| match channel {
                Channel::Out => out.extend_from_slice(bytes),
                Channel::Err => err.extend_from_slice(bytes),
            })?;
        }
        Ok((String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap()))
    }

    #[test]
    fn wherever_the_stream_is_cut_the_two_are_told_apart() {
        let all = [frame(1, "out "), frame(2, "err "), frame(0, "in"), frame(1, ""), frame(1, "more")].concat();
        for at in 0..=all.len() {
            let (left, right) = all.split_at(at);
            assert_eq!(read(&[left, right]).unwrap(), ("out more".to_owned(), "err ".to_owned()), "cut at {at}");
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert_eq!(read(&[b"HTTP/1.1 500"]), Err(NoFrame));
        assert_eq!(read(&[&frame(7, "x")]), Err(NoFrame));
    }
}
