//! What may be the name of a session.
#[test]
fn what_cannot_be_the_name_of_a_session_never_goes_back_to_the_program() {
    for (id, taken) in [("5e55-1017", true), ("--dangerously-skip-permissions", false), ("--last", false), ("", false)]
    {
        let lines = [
            ("claude", format!(r#"{{"type":"system","subtype":"init","session_id":"{id}"}}"#)),
            ("codex", format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#)),
        ];
        for (agent, line) in lines {
            let mut stream = loop_core::agent::Stream::new((loop_core::agent::adapter(agent).unwrap().reader)(
                loop_core::agent::Begin::default(),
            ));
            stream.push(format!("{line}\n").as_bytes());
            assert_eq!(stream.session(), taken.then_some(id), "{agent}: {id:?}");
        }
    }
}
