//! Output of any length in files of bounded size.
use loop_host::process::{Follower, Transcript, tail_of};

#[test]
fn a_long_stream_keeps_its_beginning_and_its_newest_end() {
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("stdout");
    let mut transcript = Transcript::new(stream.clone());
    assert!(!stream.exists(), "made with the first byte");
    let piece = |number: u64| format!("{number:>15}\n").into_bytes();
    let count = 4 * 1024 * 1024; // 64 MiB
    let mut batch = Vec::new();
    for number in 0..count {
        batch.extend(piece(number));
        if batch.len() >= 65_536 {
            transcript.write(&batch).unwrap();
            batch.clear();
        }
    }
    transcript.write(&batch).unwrap();
    assert_eq!(transcript.bytes(), count * 16);
    let mut files: Vec<_> = std::fs::read_dir(&stream).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let sizes: Vec<u64> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() <= 32 * 1024 * 1024 && sizes.len() == 5, "{sizes:?}");
    let head = std::fs::read(&files[0]).unwrap();
    assert!(files[0].ends_with("head") && head.starts_with(&piece(0)));
    assert!(files[1].ends_with("tail-000009"), "the gap can be seen by the number: {files:?}");
    let end = tail_of(&stream, 32);
    assert_eq!(end, [piece(count - 2), piece(count - 1)].concat());
    assert_eq!(tail_of(&stream, u64::MAX).len() as u64, sizes.iter().sum::<u64>());
    assert!(tail_of(&folder.path().join("nothing"), 10).is_empty());
    let mut follower = Follower::new(stream);
    let (mut read, mut gaps) = (0, 0);
    loop {
        let piece = follower.next_piece().unwrap();
        gaps += u32::from(piece.gap);
        read += piece.bytes.len() as u64;
        if piece.bytes.is_empty() {
            break;
        }
    }
    assert_eq!((read, gaps), (sizes.iter().sum(), 1), "a follower sees everything that is kept, and the gap");
}

#[test]
fn a_follower_that_is_too_slow_sees_that_it_lost_the_rest_of_what_it_read() {
    let folder = tempfile::tempdir().unwrap();
    let stream = folder.path().join("stdout");
    let mut transcript = Transcript::new(stream.clone());
    let mebibyte = vec![b'x'; 1024 * 1024];
    let mut write = |mebibytes: u32| (0..mebibytes).for_each(|_| transcript.write(&mebibyte).unwrap());
    write(17);
    let mut follower = Follower::new(stream);
    let mut read = 0;
    while read < 16 * 1024 * 1024 + 256 * 1024 {
        let piece = follower.next_piece().unwrap();
        assert!(!piece.gap && !piece.bytes.is_empty(), "nothing is lost yet: {read}");
        read += piece.bytes.len();
    }
    // Its segment is taken away, and the one that follows it is still there.
    write(3 + 4 * 4);
    let mut rest = Vec::new();
    loop {
        let piece = follower.next_piece().unwrap();
        if piece.bytes.is_empty() {
            assert!(!piece.gap, "a gap is told with what stands behind it");
            break;
        }
        rest.push((piece.gap, piece.bytes.len()));
    }
    assert!(rest[0].0 && rest[1..].iter().all(|(gap, _)| !gap), "marked once, where it is");
    assert_eq!(rest.iter().map(|(_, bytes)| bytes).sum::<usize>(), 16 * 1024 * 1024);
}
