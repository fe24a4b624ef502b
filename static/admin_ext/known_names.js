/* Files whose names documents have: is each a new version of one of these, or another document? */

const NAMES_AT_ONCE = 40; // as the server answers for
const MOST_HASHED = 256 * 2 ** 20; // bytes, which are read into memory; of larger files people are asked

/** Map of file name → documents that it may be a new version of, the likeliest first; names without any are left out. */
export async function knownDocuments(address, names, sets) {
  const known = new Map();
  for (let from = 0; from < names.length; from += NAMES_AT_ONCE) {
    const query = new URLSearchParams(sets.map((id) => ["set", id]));
    names.slice(from, from + NAMES_AT_ONCE).forEach((name) => query.append("name", name));
    const answer = await fetch(`${address}?${query}`, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    for (const [name, documents] of Object.entries(await answer.json())) if (documents.length) known.set(name, documents);
  }
  return known;
}

/** Whether one of the documents has the very bytes of the file; false where the browser cannot tell, as without TLS. */
export async function isStored(file, documents) {
  if (!crypto.subtle || file.size > MOST_HASHED) return false;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  const text = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return documents.some((one) => one.sha256 === text);
}

/** A list of choices for one file. The first document is chosen where it has the very name, in the same sets. */
export function choiceOf(name, documents, words) {
  const select = Object.assign(document.createElement("select"), { className: "rs-select", ariaLabel: `${words.whatIs} ${name}` });
  for (const one of documents) select.add(new Option(one.words, one.id, one.match === "same"));
  select.add(new Option(words.another, ""));
  select.value = documents[0].match === "same" ? documents[0].id : "";
  return select;
}

/** Choose for all files at once: the likeliest document of each, or another document. */
export function chooseForAll(selects, isVersion) {
  for (const select of selects) select.selectedIndex = isVersion ? 0 : select.options.length - 1;
}
