"use strict";
/* Draws the tree in `data` (depth, x, width, name, kind, other total; six numbers a frame) at any zoom and width. */
(function () {
	const NS = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
	const ROW = 17, BOTTOM = 36, SIDE = 10, CHAR = 7.23, STEP = 6, LEAST = 0.3, NARROW = 900;
	const svg = document.getElementById("flame");
	const details = document.getElementById("details");
	const title = document.getElementById("title").textContent, subtitle = document.getElementById("subtitle").textContent;
	const count = data.length / STEP, total = data[2] || 1;
	let deepest = 0;
	for (let i = 0; i < count; i++) deepest = Math.max(deepest, data[i * STEP]);
	const parent = new Int32Array(count).fill(-1);
	let zoomed = 0, focus = -1, pattern = null, width = 0, shown = new Map();

	const depthOf = (i) => data[i * STEP], xOf = (i) => data[i * STEP + 1], wOf = (i) => data[i * STEP + 2];
	const nameOf = (i) => names[data[i * STEP + 3]], kindOf = (i) => data[i * STEP + 4];
	const otherOf = (i) => data[i * STEP + 5];

	/* Frames come row by row, each row from left to right: a parent is the frame of the row above that spans the child. */
	(function link() {
		let above = 0, row = 0, start = 0;
		for (let i = 1; i < count; i++) {
			if (depthOf(i) !== row) {
				above = start;
				start = i;
				row = depthOf(i);
			}
			while (above + 1 < start && xOf(above) + wOf(above) <= xOf(i)) above++;
			parent[i] = above;
		}
	})();

	function make(tag, attributes, into, text) {
		const e = document.createElementNS(NS, tag);
		for (const k in attributes) e.setAttribute(k, attributes[k]);
		if (text !== undefined) e.textContent = text;
		if (into) into.appendChild(e);
		return e;
	}

	/* The same colours as the plain drawing: put_colour() in flame_svg.c. */
	const base = [[33, 85, 66], [0, 0, 88], [0, 0, 82], [205, 62, 70], [33, 88, 68], [48, 70, 78], [0, 0, 74]];
	function colour(i) {
		if (meta.compared) {
			const now = wOf(i) / total, was = meta.otherTotal ? otherOf(i) / meta.otherTotal : 0;
			const d = now + was > 0 ? (now - was) / Math.max(now, was) : 0;
			if (Math.abs(d) < 0.001) return "hsl(0,0%,86%)";
			return `hsl(${d > 0 ? 25 : 215},75%,${Math.trunc(94 - 34 * Math.abs(d))}%)`;
		}
		const bytes = new TextEncoder().encode(nameOf(i));
		let h = 2166136261;
		for (const b of bytes) h = Math.imul(h ^ b, 16777619) >>> 0;
		const c = base[kindOf(i)];
		return `hsl(${c[0] + (c[1] ? (h >>> 8 & 15) - 7 : 0)},${c[1]}%,${c[2] + (h >>> 16 & 7) - 3}%)`;
	}

	const units = { ns: [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]] };
	function amount(v) {
		for (const [size, name] of units[meta.unit] || [])
			if (v >= size) return `${(v / size).toFixed(size > 1 ? 2 : 0)} ${name}`;
		return `${v.toLocaleString("en")} ${meta.unit}`;
	}
	const share = (v, of) => `${(100 * v / (of || 1)).toFixed(2)} %`;

	function describe(i) {
		let text = `${nameOf(i)}  ${amount(wOf(i))}, ${share(wOf(i), total)} of all`;
		if (zoomed) text += `, ${share(wOf(i), wOf(zoomed))} of the view`;
		if (meta.compared) {
			const d = 100 * (wOf(i) / total - otherOf(i) / (meta.otherTotal || 1));
			text += `, ${d >= 0 ? "+" : ""}${d.toFixed(2)} points against the other`;
		}
		return text;
	}

	const old = document.getElementById("static");
	if (old) old.remove();
	const layer = make("g", { id: "frames" }, svg);
	const reset = make("text", { id: "reset", class: "button", x: SIDE, y: 24 }, svg, "\u21ba Reset");
	const matched = make("text", { id: "matched", y: 42 }, svg);
	const holder = make("foreignObject", { id: "searchbox", y: 8, height: 24 }, svg);
	const input = document.createElementNS(XHTML, "input");
	input.id = "search";
	input.setAttribute("placeholder", "search: regex, key /");
	input.setAttribute("aria-label", "search frames by regular expression");
	holder.appendChild(input);
	const legend = make("g", { id: "legend" }, svg);

	function drawLegend() {
		legend.textContent = "";
		const kinds = meta.compared ? [["more", "hsl(25,75%,64%)"], ["less", "hsl(215,75%,64%)"], ["equal", "hsl(0,0%,86%)"]] : [];
		if (!meta.compared) {
			const has = new Set();
			for (let i = 0; i < count; i++) has.add(kindOf(i));
			for (const [k, label] of [[3, "kernel"], [4, "user"], [5, "inlined"], [6, "unknown"]])
				if (has.has(k)) kinds.push([label, `hsl(${base[k][0]},${base[k][1]}%,${base[k][2]}%)`]);
		}
		let x = SIDE;
		const y = width < NARROW ? 51 : 33;
		for (const [label, fill] of kinds) {
			make("rect", { x: x, y: y, width: 11, height: 11, fill: fill }, legend);
			make("text", { x: x + 15, y: y + 10 }, legend, label);
			x += 28 + label.length * 7;
		}
	}

	const fit = (text, chars) => text.length <= chars ? text : text.slice(0, Math.max(1, chars - 2)) + "..";
	/* Of BINARY`function the function first, where there is no room for both: label() in flame_svg.c does the same. */
	const label = (name, chars) => fit(name.length <= chars ? name : name.slice(name.lastIndexOf("`") + 1), chars);

	/* The frames above (towards the root of) the zoomed one are drawn over the whole width, pale. */
	function place(i, scale, left, right) {
		const x0 = xOf(i), x1 = x0 + wOf(i);
		if (depthOf(i) < depthOf(zoomed))
			return x0 <= left && x1 >= right ? [SIDE, width - 2 * SIDE, true] : null;
		if (x1 <= left || x0 >= right) return null;
		const w = wOf(i) * scale;
		return w < LEAST ? null : [SIDE + (x0 - left) * scale, w, false];
	}

	function draw() {
		width = Math.max(320, svg.ownerDocument.documentElement.clientWidth || window.innerWidth || 1200);
		const narrow = width < NARROW, top = narrow ? 80 : 62, box = narrow ? 140 : 210;
		const height = top + (deepest + 1) * ROW + BOTTOM;
		svg.classList.toggle("narrow", narrow);
		svg.setAttribute("width", width);
		svg.setAttribute("height", height);
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		for (const [id, text, char] of [["title", title, 10], ["subtitle", subtitle, 7]]) {
			const e = document.getElementById(id);
			e.setAttribute("x", narrow ? SIDE : width / 2);
			e.textContent = fit(text, Math.floor((width - (narrow ? box + 3 * SIDE : 2 * box + 60)) / char));
		}
		details.setAttribute("y", height - 12);
		holder.setAttribute("x", width - box - SIDE);
		holder.setAttribute("width", box);
		matched.setAttribute("x", width - 14);
		reset.setAttribute("visibility", zoomed || pattern ? "visible" : "hidden");
		const left = xOf(zoomed), right = left + wOf(zoomed), scale = (width - 2 * SIDE) / (wOf(zoomed) || 1);
		const part = document.createDocumentFragment();
		shown = new Map();
		for (let i = 0; i < count; i++) {
			const at = place(i, scale, left, right);
			if (!at) continue;
			const y = meta.icicle ? top + depthOf(i) * ROW : height - BOTTOM - (depthOf(i) + 1) * ROW;
			const g = make("g", { "data-i": i }, part);
			if (at[2]) g.classList.add("parent");
			if (pattern && pattern.test(nameOf(i))) g.classList.add("found");
			if (i === focus) g.classList.add("focus");
			make("rect", { x: at[0].toFixed(2), y: y, width: Math.max(at[1] - 0.4, 0.3).toFixed(2), height: ROW - 1, rx: 1,
				       fill: colour(i) }, g);
			const chars = Math.floor((at[1] - 4) / CHAR);
			if (chars >= 3) make("text", { x: (at[0] + 2).toFixed(2), y: y + 12 }, g, label(nameOf(i), chars));
			shown.set(i, g);
		}
		layer.textContent = "";
		layer.appendChild(part);
		drawLegend();
	}

	/* The last line: of a frame, or what can be done. */
	function tell(i) {
		const hints = ["click: zoom", "arrows, Enter, Backspace: walk", "/: search", "Esc: all"];
		if (meta.leftOut) hints.push(`narrower frames that are not in this file: ${meta.leftOut.toLocaleString("en")}`);
		details.textContent = i >= 0 ? describe(i) : fit(hints.join(" \u00b7 "), Math.floor((width - 2 * SIDE) / CHAR));
		details.classList.toggle("hint", i < 0);
	}

	function zoom(i) {
		zoomed = i;
		focus = i;
		draw();
		tell(i);
	}

	/* The share of the view under found frames, each piece of the width counted once: a found frame hides its callees. */
	function search(text) {
		input.classList.remove("bad");
		pattern = null;
		if (text) {
			try {
				pattern = new RegExp(text, "i");
			} catch (e) {
				input.classList.add("bad");
				matched.textContent = "not a regular expression";
				return;
			}
		}
		let sum = 0;
		const under = new Uint8Array(count);
		for (let i = 0; pattern && i < count; i++) {
			under[i] = parent[i] >= 0 && under[parent[i]];
			if (!under[i] && pattern.test(nameOf(i))) {
				under[i] = 1;
				sum += wOf(i);
			}
		}
		matched.textContent = pattern ? `matched ${share(sum, total)}` : "";
		draw();
	}

	function clear() {
		input.value = "";
		zoomed = 0;
		focus = -1;
		search("");
		tell(-1);
	}

	function frameOf(target) {
		const g = target.closest ? target.closest("#frames g") : null;
		return g ? Number(g.getAttribute("data-i")) : -1;
	}
	layer.addEventListener("click", (e) => { const i = frameOf(e.target); if (i >= 0) zoom(i); });
	layer.addEventListener("mouseover", (e) => { const i = frameOf(e.target); if (i >= 0) tell(i); });
	layer.addEventListener("mouseout", () => tell(focus));
	reset.addEventListener("click", clear);
	input.addEventListener("input", () => search(input.value));

	/* Arrows walk over the frames that are shown; Enter zooms, Backspace zooms out, Escape starts over, / searches. */
	function step(key) {
		const from = focus < 0 ? zoomed : focus;
		const up = meta.icicle ? "ArrowDown" : "ArrowUp", down = meta.icicle ? "ArrowUp" : "ArrowDown";
		if (key === down) return parent[from] >= 0 ? parent[from] : from;
		for (const i of shown.keys()) {
			if (key === up && parent[i] === from) return i;
			if (key === "ArrowRight" && i > from && depthOf(i) === depthOf(from)) return i;
		}
		let left = from;
		if (key === "ArrowLeft")
			for (const i of shown.keys()) if (i < from && depthOf(i) === depthOf(from)) left = i;
		return left;
	}
	document.addEventListener("keydown", (e) => {
		if (e.key === "Escape") { clear(); input.blur(); return; }
		if (document.activeElement === input) return;
		if (e.key === "/") { input.focus(); e.preventDefault(); }
		else if (e.key === "Backspace") zoom(Math.max(0, parent[zoomed]));
		else if (e.key === "Enter" && focus >= 0) zoom(focus);
		else if (e.key.startsWith("Arrow")) {
			focus = step(e.key);
			draw();
			tell(focus);
			e.preventDefault();
		}
	});
	window.addEventListener("resize", draw);
	clear();
})();
