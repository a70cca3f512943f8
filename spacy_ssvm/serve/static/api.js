/** The interface of the server, relative to the address with the token. */

/** A name that no other correction has. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function ask(path, options) {
  const response = await fetch(path, options);
  const type = response.headers.get("content-type") ?? "";
  const found = type.includes("json") ? await response.json() : { error: response.statusText };
  if (!response.ok) throw new Error(found.error ?? `the server answers with status ${response.status}`);
  return found;
}

export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value != null);
  return ask(given.length ? `${path}?${new URLSearchParams(given)}` : path);
};

/** A request that is sent again where the connection breaks: corrections have a name, and are done once. */
export async function post(path, body = {}) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  try {
    return await ask(path, options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return ask(path, options);
  }
}
