// Files that the page makes: the browser saves them, and nothing is sent anywhere.

import { make } from "studio/dom";

/** @type {(name: string, content: Uint8Array<ArrayBuffer>) => void} */
export function download(name, content) {
  const address = URL.createObjectURL(new Blob([content]));
  const link = make("a", { href: address, download: name.replace(/[^\w.-]+/g, "_") });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has to have begun before the address goes.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Bytes that grow. Numbers are little-endian. */
export class Bytes {
  constructor() {
    this.bytes = new Uint8Array(1024);
    this.view = new DataView(this.bytes.buffer);
    this.length = 0;
  }

  /** Make room, and return where it begins. @param {number} more */
  room(more) {
    const at = this.length;
    this.length += more;
    if (this.length > this.bytes.length) {
      const bytes = new Uint8Array(Math.max(2 * this.bytes.length, this.length));
      bytes.set(this.bytes);
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer);
    }
    return at;
  }

  /** @param {...number} values */
  u8(...values) {
    this.put(values);
  }

  /** @param {number} value @param {boolean} [isLittle] */
  u16(value, isLittle = true) {
    const at = this.room(2);
    this.view.setUint16(at, value, isLittle);
  }

  /** @param {number} value @param {boolean} [isLittle] */
  u32(value, isLittle = true) {
    const at = this.room(4);
    this.view.setUint32(at, value, isLittle);
  }

  /** A number of up to 53 bits. @param {number} value */
  u64(value) {
    this.u32(value % 2 ** 32);
    this.u32(Math.floor(value / 2 ** 32));
  }

  /** @param {ArrayLike<number>} content */
  put(content) {
    const at = this.room(content.length);
    this.bytes.set(content, at);
  }

  done() {
    return this.bytes.slice(0, this.length);
  }
}

const utf8 = new TextEncoder();

/** @param {string} text */
export function utf8Of(text) {
  return utf8.encode(text);
}
