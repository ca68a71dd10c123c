// Loaded into opencode by loop, for this one run. opencode tries again five times without a word, and for ever when the conversation
// is too long or an answer has no end. This ends it instead with opencode's own error line, so that only loop waits.
import { writeSync } from "node:fs"

const SOON_MS = 5000
const ENDLESS_MAX = 3

let refused
const fetch = globalThis.fetch
globalThis.fetch = Object.assign(async (...ask) => {
  const asks = (ask[1]?.method ?? ask[0]?.method) === "POST"
  if (asks) refused = undefined
  const answer = await fetch(...ask)
  if (asks && answer.status >= 400) {
    const body = await answer.clone().text().catch(() => "")
    refused = {
      statusCode: answer.status,
      responseHeaders: Object.fromEntries(answer.headers),
      responseBody: body.slice(0, 65536),
    }
  }
  return answer
}, fetch)

const end = (sessionID, name, data) => {
  writeSync(1, JSON.stringify({ type: "error", timestamp: Date.now(), sessionID, error: { name, data } }) + "\n")
  process.exit(1)
}

let overflows = 0
let endless = 0

const seen = {
  "session.status": ({ sessionID, status }) => {
    if (status?.type !== "retry") return
    // One more try is fine where nobody asked us to wait.
    const again = status.attempt === 1 && refused?.statusCode !== 429 && status.next - Date.now() < SOON_MS
    if (!again) end(sessionID, "APIError", { message: status.message, ...refused })
  },
  "session.error": ({ sessionID, error }) => {
    if (error?.name !== "ContextOverflowError") return
    overflows += 1
    if (overflows > 1) end(sessionID, error.name, error.data)
  },
  "message.part.updated": ({ part }) => {
    if (part?.type === "tool" && part.state?.status === "completed") overflows = 0
    if (part?.type !== "step-finish") return
    endless = part.reason === "unknown" ? endless + 1 : 0
    const message = "the answers of the model have no end: is there a proxy or a sign-in page in between?"
    if (endless >= ENDLESS_MAX) end(part.sessionID, "UnknownError", { message })
  },
}

export const LoopBounds = async () => ({
  event: async ({ event }) => seen[event.type]?.(event.properties ?? {}),
})
