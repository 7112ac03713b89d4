// The publisher's tokenizer, for compare_tokenizer.py: the npm package tiktoken of the folder that is the first argument.
//   node compare_tokenizer_peer.cjs FOLDER ids          records from stdin, UTF-8, to token ids on stdout: uint32
//   node compare_tokenizer_peer.cjs FOLDER speed FILE   MB a second of a core, a line of the file at a time, the median of 5
const fs = require("fs");
const path = require("path");

const [folder, mode, file] = process.argv.slice(2);
const { get_encoding: getEncoding } = require(path.resolve(folder, "node_modules", "tiktoken"));
const encoding = getEncoding("gpt2");

function ids() {
  const input = fs.readFileSync(0);
  const out = [];
  for (let at = 0; at < input.length; ) {
    const length = input.readUInt32LE(at);
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input.subarray(at + 4, at + 4 + length));
    const tokens = encoding.encode_ordinary(text);
    out.push(Buffer.from(Uint32Array.of(tokens.length).buffer), Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength));
    at += 4 + length;
  }
  fs.writeFileSync(1, Buffer.concat(out));
}

function speed() {
  const text = fs.readFileSync(file);
  const lines = text.toString("utf-8").split(/(?<=\n)/);
  const rates = [];
  for (let i = 0; i < 5; ++i) {
    const begin = process.cpuUsage(); // of a core: a machine may have other work
    let done = 0;
    let seconds = 0;
    while (seconds < 0.4) {
      for (const line of lines) encoding.encode_ordinary(line);
      done += text.length;
      const used = process.cpuUsage(begin);
      seconds = (used.user + used.system) / 1e6;
    }
    rates.push(done / seconds / 1e6);
  }
  rates.sort((a, b) => a - b);
  console.log(rates[2].toFixed(2));
}

if (mode === "ids") ids();
else speed();
