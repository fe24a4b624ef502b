/* The state of models and workers on the first page: asked for after the page is there, since a server may be slow. */

const place = document.querySelector("[data-health]");

try {
  const response = await fetch(place.dataset.health, { headers: { "X-Requested-With": "fetch" } });
  if (!response.ok) throw new Error(String(response.status));
  place.innerHTML = await response.text();
} catch {
  place.textContent = place.dataset.failed;
}
