// Search, ask, and read an answer while it is written. Usage: SITE=… KEY=… node ask.mjs QUESTION
const { SITE, KEY } = process.env;
const question = process.argv[2];

async function call(path, body) {
  const response = await fetch(SITE + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    const { error } = await response.json();
    throw new Error(`${response.status} ${error.code}: ${error.message}`);
  }
  return response;
}

// Server-sent events of a response, as objects. EventSource cannot be used: it sends neither a body nor a key.
async function* events(response) {
  let text = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "))?.slice(6);
      if (data && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

const found = await (await call("/api/v1/rag/retrieve", { query: question, top_k: 3 })).json();
for (const hit of found.hits) console.log(`${hit.score.toFixed(3)}  ${hit.title}, page ${hit.page}`);

const answer = await (await call("/api/v1/rag/generate", { query: question, style: "simple" })).json();
console.log(`\n${answer.status}: ${answer.answer}`);
for (const citation of answer.citations) console.log(`[${citation.citation_num}] ${citation.title}`);

console.log("\nStreamed:");
for await (const event of events(await call("/api/v1/rag/generate/stream", { query: question, style: "simple", cache: false }))) {
  if (event.type === "chunk") process.stdout.write(event.content);
  if (event.type === "error") throw new Error(event.message);
}
console.log();
