// The WebSocket: opened when needed, reopened with growing pauses while a turn runs.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10000;
const NOT_SIGNED_IN = 4401; // close codes of the server
const TOO_MANY_SOCKETS = 4429;

export class Connection {
  /** `onEvent(message)` for everything received, `onState("open" | "lost")`, `isNeeded()` while a turn runs.
   *  `path`: where it leads; `protocols()`: what the handshake offers, which is how a bearer travels.
   */
  constructor({ onEvent, onState, isNeeded, path = "/ws/chat", protocols = () => [] }) {
    Object.assign(this, { onEvent, onState, isNeeded, path, protocols, socket: null, pause: FIRST_PAUSE_MS, waiting: [], timer: 0 });
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.retryNow());
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    } else {
      this.waiting.push(message);
      this.open();
    }
  }

  /** Take back a message that waits for the connection; false where it has been sent. */
  withdraw(message) {
    const at = this.waiting.indexOf(message);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  open() {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${this.path}`, this.protocols());
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.onState("open");
      for (const message of this.waiting.splice(0)) socket.send(JSON.stringify(message));
    });
    socket.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (message.id) this.pause = FIRST_PAUSE_MS; // an event of a turn: the connection serves
      this.onEvent(message);
    });
    socket.addEventListener("close", ({ code }) => this.closed(socket, code));
  }

  closed(socket, code) {
    if (socket !== this.socket) return;
    this.socket = null;
    if (code === NOT_SIGNED_IN) return void document.dispatchEvent(new CustomEvent("signed-out"));
    if (!this.isNeeded() && !this.waiting.length) return;
    if (code === TOO_MANY_SOCKETS) this.pause = LONGEST_PAUSE_MS;
    this.onState("lost");
    this.timer = setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  /** Leave the connection as it is, and what waits for it: another one is opened when it is needed. */
  reset() {
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    this.waiting = [];
    socket?.close();
  }

  retryNow() {
    if (this.isNeeded() || this.waiting.length) this.open();
  }
}
