/* format.js -- times, names and colours as people read them. */
const page = {};
(function () {
	const $ = page.$ = (id) => document.getElementById(id);
	page.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

	/* An element with text and children; text of a trace is only ever put in as text. */
	page.make = (tag, attributes, ...children) => {
		const e = document.createElement(tag);
		for (const [k, v] of Object.entries(attributes || {}))
			if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
			else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
		e.append(...children.filter((c) => c !== null && c !== undefined));
		return e;
	};

	/* Control and bidi characters are shown as what they are: they neither move nor hide what stands beside them. */
	page.plain = (text, max = 200) => {
		const s = String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
			(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
		return s.length > max ? s.slice(0, max - 1) + "\u2026" : s;
	};

	/* With so many digits after the point at most. toLocaleString() takes longer than a row of the picture. */
	const text = (v, most) => {
		const [whole, part = ""] = v.toFixed(most).split("."), tail = part.replace(/0+$/, "");
		return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (tail && `.${tail}`);
	};
	page.count = (n) => text(Math.round(n), 0);
	/* With `step`, as many digits as distinguish it from what lies a step away. */
	page.amount = (v, step) => {
		const units = page.meta.ns ? [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]] : [[1, "ticks"]];
		for (const [size, name] of units)
			if (Math.abs(v) >= size)
				return `${text(v / size, size > 1 ? step ? Math.max(0, Math.min(9, Math.ceil(Math.log10(size / step)))) : 3 : 0)} ${name}`;
		return `0 ${units[units.length - 1][1]}`;
	};
	/* The time as reports print it. */
	page.stamp = (t) => {
		const at = BigInt(page.meta.start) + BigInt(Math.round(t));
		if (!page.meta.ns) return at.toString();
		return `${at / 1000000000n}.${(at % 1000000000n).toString().padStart(9, "0")}`;
	};
	page.percent = (v) => `${(v * 100).toFixed(v < 0.1 ? 2 : 1)} %`;

	/* By number: each is made once. What a live target adds comes after the others, but a task may get another name. */
	const kept = (make) => {
		let list = [];
		const get = (number) => list[number] !== undefined ? list[number] : list[number] = make(number);
		get.forget = () => { list = []; };
		return get;
	};
	page.task = kept((number) => {
		const t = page.meta.tasks[number];
		return !t ? "?" : t[0] ? `${page.plain(t[1], 64)}-${t[0]}` : "idle";
	});
	page.name = kept((number) => page.plain(number < page.meta.names.length ? page.meta.names[number] : "?"));
	page.type = kept((number) => page.plain((page.meta.types[number] || ["?"])[0]));

	/*
	 * Hues that colour-blind eyes keep apart (after Okabe and Ito), each in three lightnesses: 21 that differ. Orange is not one of
	 * them: it says ready. Name and pid choose, so two tasks of one name differ, and a task keeps its colour from trace to trace.
	 */
	const hues = [[212, 60], [162, 55], [52, 80], [265, 45], [14, 75], [192, 65], [322, 50]];
	const known = new Map();
	page.colour = (text) => {
		if (!known.has(text)) {
			let h = 2166136261;
			for (let i = 0; i < text.length && i < 64; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
			h = Math.imul(h ^ h >>> 15, 2246822519) >>> 0;
			const [hue, full] = hues[h % hues.length];
			known.set(text, `hsl(${hue},${full}%,${[58, 66, 74][(h >>> 8) % 3]}%)`);
			if (known.size > 20000) known.clear();
		}
		return known.get(text) || "hsl(212,60%,66%)";
	};

	/* A colour as a word of four bytes, as pixels have it: #rrggbb, or hsl() as above. */
	const words = new Map();
	page.pixel = (colour) => {
		if (!words.has(colour)) {
			const hsl = /^hsl\((\d+),(\d+)%,(\d+)%\)$/.exec(colour), hex = /^#(..)(..)(..)$/.exec(colour.replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3"));
			let rgb = hex ? hex.slice(1).map((v) => parseInt(v, 16)) : [128, 128, 128];
			if (hsl) {
				const [h, s, l] = [hsl[1] / 30, hsl[2] / 100, hsl[3] / 100], a = s * Math.min(l, 1 - l);
				rgb = [0, 8, 4].map((k) => Math.round(255 * (l - a * Math.max(-1, Math.min((k + h) % 12 - 3, 9 - (k + h) % 12, 1)))));
			}
			words.set(colour, (0xff000000 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0);
		}
		return words.get(colour);
	};

	/* Of prev_state: why a task does not run. */
	page.blocked = (bits) => {
		const names = ["interruptible", "uninterruptible", "stopped", "traced", "dead", "zombie", "parked", "idle"];
		const on = names.filter((_, i) => bits >> i & 1);
		return on.length ? on.join(" ") : "blocked";
	};
	page.status = (text) => { $("told").textContent = text; };
})();
