/* draw.js -- the picture: the axis, rows and what lies over them, at any zoom. */
(function () {
	const K = page.KIND, $ = page.$, AXIS = page.AXIS, RIGHT = 8;
	const canvas = $("lanes"), main = $("main");
	let g, width = 0, height = 0, left = 150, hatch = {}, theme = {};

	page.view = { from: 0, to: 1 };
	const xOf = page.xOf = (t) => left + (t - page.view.from) / (page.view.to - page.view.from) * (width - left - RIGHT);
	page.tOf = (x) => page.view.from + (x - left) / (width - left - RIGHT) * (page.view.to - page.view.from);
	page.left = () => left;
	page.plotWidth = () => width - left - RIGHT;

	const fit = page.fit = (c, w, h) => {
		const scale = window.devicePixelRatio || 1, W = Math.round(w * scale), H = Math.round(h * scale);
		if (c.width !== W || c.height !== H) { c.width = W; c.height = H; }
		c.style.height = `${h}px`;
		const ctx = c.getContext("2d", { alpha: false });
		ctx.setTransform(scale, 0, 0, scale, 0, 0);
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		ctx.fillStyle = theme["--paper"] || page.css("--paper");
		ctx.fillRect(0, 0, w, h);
		return ctx;
	};

	/* Loss is hatched and red, what was not recorded or is not known of a task is dotted and grey, idle is empty. */
	function patterns() {
		const make = (paint) => {
			const c = document.createElement("canvas");
			c.width = c.height = 8;
			const p = c.getContext("2d");
			paint(p);
			return g.createPattern(c, "repeat");
		};
		const lost = page.css("--lost"), not = page.css("--not");
		hatch = {
			lost: make((p) => { p.globalAlpha = 0.2; p.fillStyle = lost; p.fillRect(0, 0, 8, 8); p.globalAlpha = 0.9; p.strokeStyle = lost; p.lineWidth = 1.4;
				p.beginPath(); p.moveTo(-2, 10); p.lineTo(10, -2); p.moveTo(-2, 2); p.lineTo(2, -2); p.moveTo(6, 10); p.lineTo(10, 6); p.stroke(); }),
			not: make((p) => { p.fillStyle = not; p.globalAlpha = 0.12; p.fillRect(0, 0, 8, 8); p.globalAlpha = 0.8; p.fillRect(1, 1, 2, 2); p.fillRect(5, 5, 2, 2); }),
		};
	}

	const widths = new Map();
	function textWidth(text) {
		if (!widths.has(text)) {
			if (widths.size > 5000) widths.clear();
			widths.set(text, g.measureText(text).width);
		}
		return widths.get(text);
	}
	function label(text, x, y, w, ink) {
		if (w < 18) return;
		let s = text;
		if (textWidth(s) > w - 6) {
			const n = Math.floor((w - 12) / Math.max(4, textWidth(text) / text.length));
			if (n < 3) return;
			s = text.slice(0, n) + "\u2026";
		}
		g.fillStyle = ink;
		g.fillText(s, x + 3, y);
	}

	/* What a span of a lane is called, and its colour. */
	page.nameOf = (l, what) => {
		const n = what & page.WHAT;
		switch (l.kind) {
		case K.CPU: case K.WAKES: case K.IPC: return page.task(n);
		case K.TASK: return ["running", "ready", page.blocked(n), "not known"][what >>> 24 & 3];
		case K.MARKS: case K.MARKERS: case K.SAMPLES: return page.type(n);
		case K.LOST: return n === 0xfffffe ? "not recorded" : n === 0xffffff ? "lost, not known how many" : `${n === 0xfffffd ? "at least " : ""}${page.count(n)} lost`;
		default: return page.name(n);
		}
	};
	const stateColour = ["--run", "--ready", "--blocked", "--lost"];
	function colourOf(l, what, klass) {
		if (l.kind === K.TASK) return klass ? theme[stateColour[klass]] : page.colour(page.task(l.id));
		return page.colour(page.nameOf(l, what));
	}
	const faded = (l, what) => page.wanted && !page.wanted(l, what);

	function drawSpan(l, what, x0, x1, y, h) {
		const klass = l.kind === K.COUNTER ? 0 : what >>> 24 & 3, w = x1 - x0;
		if (l.kind === K.CPU && klass === 1) return;
		g.globalAlpha = faded(l, what) ? 0.18 : 1;
		if (klass === 3) {
			g.fillStyle = l.kind === K.TASK || (what & page.WHAT) === 0xfffffe ? hatch.not : hatch.lost;
			g.fillRect(x0, y, Math.max(1.5, w), h);
			if (l.kind === K.LOST && w > 60) {
				const name = page.nameOf(l, what), tw = Math.min(w, textWidth(name) + 8);
				g.fillStyle = theme["--paper"];
				g.fillRect(x0 + 2, y + h / 2 - 7, tw - 4, 14);
				label(name, x0 + 1, y + h / 2 + 0.5, w, theme["--lost"]);
			}
			return;
		}
		g.fillStyle = colourOf(l, what, klass);
		if (l.kind === K.TASK && klass === 2) g.fillRect(x0, y + h - 5, Math.max(0.3, w), 3);
		else if (l.kind === K.TASK && klass === 1) g.fillRect(x0, y + h / 2 - 1, Math.max(0.5, w), h / 2);
		else g.fillRect(x0, y + 0.5, Math.max(0.6, w > 3 ? w - 0.5 : w), h - 1);
		if (what >>> 26 & 2 && w > 8 && !(l.kind === K.TASK && klass)) { /* it goes on: the end is a tip */
			const tip = Math.min(6, h / 2);
			g.fillStyle = theme["--lane"];
			for (const [from, to] of [[y, y + h / 2], [y + h, y + h / 2]]) {
				g.beginPath();
				g.moveTo(x1 - tip, from);
				g.lineTo(x1 + 0.5, from);
				g.lineTo(x1 + 0.5, to);
				g.fill();
			}
		}
		if (what >>> 26 & 16 && w > 4 && l.kind <= K.TASK) { /* only guessed from the events' tasks */
			g.fillStyle = theme["--paper"];
			g.globalAlpha *= 0.45;
			g.fillRect(x0, y + 0.5, w, h - 1);
			g.globalAlpha = 1;
		}
		const text = l.kind === K.TASK ? `CPU ${what & page.WHAT}` : null;
		if (h >= 12 && w > 18 && !(l.kind === K.TASK && klass) && !(text && textWidth(text) > w - 6)) label(text || page.nameOf(l, what), x0, y + h / 2 + 0.5, w, "#111");
	}

	/* Pixels of all strips, for what differs from column to column: one picture a drawing instead of a rectangle for each. What lies over it waits. */
	const sheet = { canvas: document.createElement("canvas"), n: 0, rows: 0, used: false, over: [] };
	function blank(n, rows) {
		sheet.used = false;
		sheet.over = [];
		if (sheet.n === n && sheet.rows === rows) return;
		sheet.canvas.width = sheet.n = n;
		sheet.canvas.height = sheet.rows = rows;
		sheet.ink = sheet.canvas.getContext("2d", { willReadFrequently: true });
		sheet.pixels = sheet.ink.createImageData(n, rows);
		sheet.words = new Uint32Array(sheet.pixels.data.buffer);
	}
	function putSheet() {
		if (sheet.used) {
			sheet.ink.putImageData(sheet.pixels, 0, 0);
			g.drawImage(sheet.canvas, left, 0, sheet.n, sheet.rows);
			sheet.words.fill(0);
		}
		for (const f of sheet.over) f();
		g.globalAlpha = 1;
	}

	/* Sums: how much of each pixel, from the bottom up. */
	function drawParts(l, from, to, y, h) {
		const x0 = Math.max(left, Math.floor(xOf(from))), x1 = Math.min(width - RIGHT, Math.ceil(xOf(to))), n = x1 - x0;
		if (n <= 0) return;
		const c = page.columns(l.index, page.tOf(x0), page.tOf(x1), n), counts = page.counts(l.kind), task = l.kind === K.TASK;
		const own = task ? page.pixel(colourOf(l, 0, 0)) : 0, ready = page.pixel(theme["--ready"]), blocked = page.pixel(theme["--blocked"]);
		const { words, n: line } = sheet, foot = Math.min(sheet.rows, Math.round(y + h)) - 1, head = Math.max(0, Math.round(y)), place = x0 - left;
		let most = 1, last = -1, word = own;
		if (counts) for (let i = 0; i < n; i++) most = Math.max(most, c.share[i * 4]);
		/* from the bottom up, the last pixel as far as it is covered */
		const column = (i, bottom, height, colour) => {
			let at = bottom * line + place + i;
			for (let r = bottom; height > 0.02 && r >= head; r--, height--, at -= line) words[at] = height >= 1 ? colour : (colour & 0xffffff | (colour >>> 24) * height << 24) >>> 0;
		};
		const least = h < 12 ? 1 : 2, part = (v) => v > 0 ? Math.max(least, Math.min(1, v) * (h - 1)) : 0;
		sheet.used = true;
		for (let i = 0; i < n && l.kind !== K.LOST; i++) {
			const o = i * 4, run = part(counts ? c.share[o] && 0.25 + 0.75 * Math.sqrt(c.share[o] / most) : c.share[o]);
			if (run) {
				if (!task && c.top[i] !== last) {
					last = c.top[i];
					word = page.pixel(colourOf(l, last, 0));
					if (faded(l, last)) word = (word & 0xffffff | 0x2e000000) >>> 0;
				}
				column(i, foot, run, word);
			}
			if (!task) continue;
			if (c.share[o + 1] * h > 0.2) column(i, foot - Math.ceil(run), part(c.share[o + 1]), ready);
			if (c.share[o + 2] > 0.5 && c.share[o] < 0.1) column(i, foot - 2, 3, blocked);
		}
		if (counts) return;
		sheet.over.push(() => {
			g.fillStyle = task ? hatch.not : hatch.lost;
			for (let i = 0, k; i < n; i = k) {
				for (k = i + 1; k < n && c.share[k * 4 + 3] > 0.004 === c.share[i * 4 + 3] > 0.004;) k++;
				if (c.share[i * 4 + 3] > 0.004) g.fillRect(x0 + i, y, k - i, h);
			}
		});
	}

	/* f(left, right, number) for the spans of a tile in view; what reaches in from the tile before has been drawn with that one, or is in its sums, which would cover a name there. */
	function eachSpan(t, before, f) {
		const { from, to } = page.view, t0 = t.index * page.tileWidth(t.level);
		const again = before && before.mode === 0 && (before.index + 1) * page.tileWidth(before.level) === t0;
		for (let k = 0; k < t.nr && t.from[k] <= to; k++)
			if (t.from[k] + t.len[k] >= from && !(again && t.from[k] < t0)) f(Math.max(left, xOf(Math.max(t0, t.from[k]))), Math.min(width - RIGHT, xOf(t.from[k] + t.len[k])), k);
	}
	/* More spans than can be told apart: their sums are drawn. */
	function isDense(t) {
		if (t.nr < 64 || page.wanted) return false;
		if (t.denseTurn === page.turn()) return t.dense;
		const t0 = t.index * page.tileWidth(t.level), { from, to } = page.view;
		const pixels = (Math.min(to, t0 + page.tileWidth(t.level)) - Math.max(from, t0)) / (to - from) * (width - left - RIGHT);
		let n = 0;
		for (let k = 0; k < t.nr && t.from[k] <= to; k++) n += t.from[k] + t.len[k] >= from;
		t.denseTurn = page.turn();
		return t.dense = n > pixels / 3;
	}

	function drawLane(l, y, h) {
		const { from, to } = page.view, level = page.levelFor((to - from) / (width - left - RIGHT)), w = page.tileWidth(level), want = [];
		const last = Math.min(2 ** level - 1, Math.floor(to / w));
		let done = null, sums = null; /* since where there are only sums, or spans smaller than can be told apart */
		const wide = []; /* of these the spans that are not small */
		const flush = (end) => {
			if (sums !== null) drawParts(l, Math.max(from, sums), Math.min(to, end), y, h);
			sums = null;
			for (const [a, b, what] of wide.splice(0)) sheet.over.push(() => drawSpan(l, what, a, b, y, h));
		};
		for (let i = Math.max(0, Math.floor(from / w)); i <= last; i++) {
			const got = page.tile(l.index, level, i);
			if (!got || !got.fine || got.tile.stale) want.push([l.index, level, i]);
			if (!got || got.tile.mode === 0 && !isDense(got.tile)) flush(i * w);
			if (!got) { page.coarse = true; continue; }
			if (!got.fine && !page.alone) page.coarse = true;
			if (got.tile.mode !== 0 || isDense(got.tile)) {
				if (page.alone && !got.fine) page.thinned = true;
				if (sums === null) sums = i * w;
				if (got.tile.mode === 0 && got.tile !== done) eachSpan(got.tile, done, (x0, x1, k) => { if (x1 - x0 > 18) wide.push([x0, x1, got.tile.what[k]]); });
				done = got.tile;
			} else if (got.tile !== done) {
				const t = got.tile, drawn = [-1, -1, -1, -1]; /* by class, the last pixel that had a span smaller than itself: more in it are not seen */
				eachSpan(t, done, (x0, x1, k) => {
					if (x1 - x0 < 0.5 && !page.wanted) {
						const px = Math.floor(x0), c = t.what[k] >>> 24 & 3;
						if (px === drawn[c]) return;
						drawn[c] = px;
					}
					drawSpan(l, t.what[k], x0, x1, y, h);
				});
				done = t;
				g.globalAlpha = 1;
			}
		}
		flush((last + 1) * w);
		return want;
	}

	const floats = new Float32Array(1), bits = new Uint32Array(floats.buffer);
	page.value = (what) => { bits[0] = what; return floats[0]; };
	/* Of more values than can be told apart, the highest of each pixel. */
	function highest(l) {
		const { from, to } = page.view, n = Math.ceil(width - left - RIGHT), w = (to - from) / n, c = page.columns(l.index, from, to, n);
		if (page.alone) page.thinned = page.thinned || !c.fine;
		else page.coarse = page.coarse || !c.fine;
		return Array.from(c.top, (what, i) => ({ from: from + i * w, len: w, what })).filter((_, i) => c.share[4 * i]);
	}
	function drawCounter(l, y, h) {
		const { from, to } = page.view, spans = page.spans(l.index, from, to) || highest(l);
		const most = spans.reduce((v, s) => Math.max(v, page.value(s.what)), 1);
		for (const s of spans) {
			const x0 = Math.max(left, xOf(s.from)), x1 = Math.min(width - RIGHT, xOf(s.from + s.len)), up = page.value(s.what) / most * (h - 4), inside = up >= Math.min(13, h - 13);
			g.fillStyle = page.colour(page.name(l.id));
			g.fillRect(x0, y + h - up, Math.max(0.6, x1 - x0), up);
			if (x1 - x0 > 50) label(page.count(page.value(s.what)), x0, y + h - Math.max(6, up + (inside ? -7 : 6)), x1 - x0, inside ? "#111" : theme["--ink"]);
		}
		return [];
	}

	/* Text that programs wrote, as flags; where they are too many, how many. */
	function drawMarkers(l, y, h) {
		const flags = page.flags(l);
		if (!flags) return drawLane(l, y + 8, h - 10);
		let free = -Infinity, lower = -Infinity;
		for (const e of flags) {
			const x = xOf(e.t);
			g.fillStyle = theme["--mark"];
			g.fillRect(x - 0.75, y, 1.5, h - 2);
			const text = page.plain(e.text.replace(/^tracing_mark_write: /, ""), 80), w = textWidth(text) + 8, low = x < free && x >= lower;
			if (x < free && !low) continue;
			const top = low ? y + 14 : y;
			g.globalAlpha = 0.16;
			g.fillRect(x, top, Math.min(w, width - RIGHT - x), 13);
			g.globalAlpha = 1;
			label(text, x, top + 7, Math.min(w, width - RIGHT - x) + 2, theme["--ink"]);
			if (low) lower = x + w; else free = x + w;
		}
		return [];
	}

	/* Marks one by one where they are few. */
	function drawMarks(l, y, h) {
		const list = page.exactEvents && page.exactEvents(l);
		if (!list) return drawLane(l, y, h);
		for (const e of list) {
			if (e.t < page.view.from || e.t > page.view.to) continue;
			g.globalAlpha = page.wantedEvent && !page.wantedEvent(e) ? 0.18 : 1;
			g.fillStyle = page.colour(e.event);
			g.fillRect(xOf(e.t) - 0.75, y + 1, 1.5, h - 2);
		}
		g.globalAlpha = 1;
		return [];
	}

	function ticks() {
		const { from, to } = page.view, about = (to - from) / Math.max(2, (width - left) / 130), size = 10 ** Math.floor(Math.log10(about));
		const step = Math.max(page.meta.ns ? 1e-3 : 1, [1, 2, 5, 10].map((k) => k * size).find((s) => s >= about)), out = [];
		for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
		return out;
	}
	function drawAxis() {
		g.fillStyle = theme["--paper"];
		g.fillRect(0, 0, width, AXIS - 2);
		const list = ticks(), step = list.length > 1 ? list[1] - list[0] : 0;
		for (const t of list) {
			g.fillStyle = theme["--soft"];
			g.fillText((t ? "+" : "") + page.amount(t, step), xOf(t) + 3, AXIS / 2);
			g.fillRect(Math.round(xOf(t)), AXIS - 8, 1, 6);
		}
	}
	function drawGrid() {
		g.fillStyle = theme["--line"];
		for (const t of ticks()) g.fillRect(Math.round(xOf(t)), AXIS, 1, height);
	}

	function band(a, b, colour, alpha) {
		const x0 = Math.max(left, xOf(a)), x1 = Math.min(width - RIGHT, xOf(b));
		if (x1 < left || x0 > width) return;
		g.globalAlpha = alpha;
		g.fillStyle = theme[colour];
		g.fillRect(x0, 0, Math.max(1, x1 - x0), height);
		g.globalAlpha = 1;
	}

	/* The range, A and B, and arrows of what is picked. */
	function drawOver() {
		if (page.range) {
			band(page.range.from, page.range.to, "--accent", 0.14);
			for (const t of [page.range.from, page.range.to]) band(t, t, "--accent", 0.9);
		}
		for (const name of ["A", "B"]) {
			const t = page.mark && page.mark[name];
			if (t === undefined || t === null || t < page.view.from || t > page.view.to) continue;
			band(t, t, "--pick", 1);
			g.fillStyle = theme["--pick"];
			g.fillRect(xOf(t), AXIS - 18, 13, 14);
			g.fillStyle = theme["--paper"];
			g.fillText(name, xOf(t) + 3, AXIS - 11);
		}
		const p = page.picked;
		if (p && p.strip) {
			const at = page.stripY(p.row, p.strip);
			g.strokeStyle = theme["--pick"];
			g.lineWidth = 2;
			if (at !== null) g.strokeRect(Math.max(left, xOf(p.from)), at + 0.5, Math.max(2, Math.min(width - RIGHT, xOf(p.from + p.len)) - Math.max(left, xOf(p.from))), p.strip.h - 1);
		}
		for (const a of page.arrows || []) arrow(a);
	}
	page.stripY = (row, strip) => page.shown.includes(row) ? row.y + strip.y - main.scrollTop : null;
	const middle = (row) => { const s = row && row.strips[0]; return s && page.shown.includes(row) ? row.y + s.y + s.h / 2 - main.scrollTop : null; };
	function arrow(a) {
		const y0 = middle(a.fromRow), y1 = middle(a.toRow), x0 = xOf(a.from), x1 = xOf(a.to);
		if (y0 === null || y1 === null) return;
		const bend = Math.max(14, Math.min(60, (x1 - x0) / 2));
		g.save();
		g.beginPath();
		g.rect(left, AXIS, width - left - RIGHT, height);
		g.clip();
		g.strokeStyle = g.fillStyle = theme[a.colour || "--pick"];
		g.lineWidth = a.colour ? 2.5 : 1.5;
		g.beginPath();
		g.moveTo(x0, y0);
		g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
		g.stroke();
		g.beginPath();
		g.moveTo(x1, y1);
		g.lineTo(x1 - 7, y1 - 4);
		g.lineTo(x1 - 7, y1 + 4);
		g.fill();
		g.restore();
	}

	let leftSet = 0, heightSet = 0;
	const THEME = ["--paper", "--ink", "--soft", "--line", "--lane", "--pick", "--accent", "--run", "--ready", "--blocked", "--lost", "--not", "--mark", "--hit"];
	function retheme() {
		for (const n of THEME) theme[n] = page.css(n);
		patterns();
	}
	/*
	 * While the server is asked for a new view, the picture of the one before is moved and stretched to where it belongs: that
	 * takes a tenth of a drawing. What was asked for is drawn when it comes, or what is here after LATE ms.
	 */
	const LATE = 80, copy = document.createElement("canvas"), held = { is: "", view: null };
	let late = 0;
	function stretch(is) {
		const { from, to } = page.view, was = held.view, plot = width - left - RIGHT, scale = canvas.width / width;
		if (!page.pending() || held.is !== is || was.from >= to || was.to <= from) return false;
		copy.width = canvas.width;
		copy.height = canvas.height;
		copy.getContext("2d", { alpha: false }).drawImage(canvas, 0, 0);
		g = fit(canvas, width, height);
		g.save();
		g.beginPath();
		g.rect(left, 0, plot, height);
		g.clip();
		g.imageSmoothingEnabled = false;
		g.drawImage(copy, left * scale, 0, plot * scale, copy.height, xOf(was.from), 0, plot * (was.to - was.from) / (to - from), height);
		g.restore();
		drawAxis();
		page.coarse = true;
		if (!late) late = setTimeout(() => { late = 0; held.is = ""; page.draw(); }, LATE);
		return true;
	}

	page.rethemed = () => { theme = {}; page.draw(); };
	page.draw = () => {
		const started = performance.now();
		width = main.clientWidth;
		height = main.clientHeight;
		if (!width || !page.meta) return;
		left = width < 600 ? 84 : 170;
		if (left !== leftSet) document.documentElement.style.setProperty("--left", `${leftSet = left}px`);
		page.stageHeight = height;
		page.scrollTop = main.scrollTop;
		page.layout();
		if (page.height !== heightSet) $("space").style.height = `${heightSet = page.height}px`;
		page.turn(true);
		const rows = page.shown.filter((r) => !r.heading && r.y - main.scrollTop <= height && r.y - main.scrollTop + r.height >= AXIS);
		page.wantAhead(rows.flatMap((r) => [...r.strips.map((s) => s.lane), ...(r.lanes[K.LOST] || []).filter(Boolean)]));
		const is = `${width} ${height} ${main.scrollTop} ${theme["--paper"]} ${rows.map((r) => `${r.key} ${r.y} ${r.height}`)}`;
		if (!stretch(is)) drawAll(rows);
		held.is = is;
		held.view = { ...page.view };
		page.drawLabels();
		page.drawOverview();
		page.about();
		page.drawTime = performance.now() - started;
		if (!page.completeAt && !page.coarse && !page.pending()) page.completeAt = performance.now(); /* the first picture of all that is asked for */
	};

	/* On paper the picture is as wide as the paper: names beside it would not be where their rows are. */
	page.paper = matchMedia("print");
	function drawNames() {
		for (const r of page.shown) {
			const y = r.y - main.scrollTop;
			if (y < AXIS || y > height) continue;
			g.fillStyle = theme["--ink"];
			g.font = `${r.heading ? "bold " : ""}11px system-ui, sans-serif`;
			g.fillText(r.label, r.heading ? 4 : 12, y + 10, left - 16);
		}
		g.font = "11px system-ui, sans-serif";
	}

	function drawAll(rows) {
		const want = [], plot = Math.max(1, Math.ceil(width - left - RIGHT));
		clearTimeout(late);
		late = 0;
		g = fit(canvas, width, height);
		if (!theme["--ink"]) retheme();
		page.coarse = page.thinned = false;
		drawGrid();
		blank(plot, height);
		for (const r of rows) {
			const top = r.y - main.scrollTop;
			g.fillStyle = theme["--lane"];
			g.fillRect(left, top + 1, width - left, r.height - 3);
			for (const s of r.strips) {
				const y = top + s.y;
				if (y > height || y + s.h < 0) continue;
				const how = s.kind === K.COUNTER ? drawCounter : s.kind === K.MARKERS ? drawMarkers : s.kind === K.MARKS || s.kind === K.SAMPLES ? drawMarks : drawLane;
				want.push(...how(s.lane, y, s.h));
			}
		}
		putSheet();
		blank(plot, height);
		for (const r of rows) for (const l of r.lanes[K.LOST] || []) if (l) want.push(...drawLane(l, r.y - main.scrollTop + 2, r.height - 7));
		putSheet();
		for (const r of page.shown) for (const k of [K.WAKES]) /* arrows need them once a task is picked */
			if (page.picked && page.picked.row === r && r.lanes[k]) for (const l of r.lanes[k]) if (l) page.spans(l.index, page.view.from, page.view.to);
		g.fillStyle = theme["--paper"];
		g.fillRect(0, 0, left, height);
		if (page.paper.matches) drawNames();
		drawAxis();
		drawOver();
		page.want(want);
	}

	/* How busy the CPUs were, and what was lost, over the whole trace: kept until it changes. */
	const whole = document.createElement("canvas");
	let wholeIs = "";
	function drawWhole(w, n, span) {
		const is = `${w} ${n} ${span} ${window.devicePixelRatio} ${theme["--paper"]}`;
		if (is === wholeIs) return;
		const c = fit(whole, w, 46), cpus = page.lanes.filter((l) => l.kind === K.CPU), busy = new Float64Array(n), lost = new Float64Array(n);
		let fine = !page.live.on;
		for (const l of cpus) {
			const v = page.columns(l.index, 0, span, n);
			fine = fine && v.fine;
			for (let i = 0; i < n; i++) busy[i] += v.share[i * 4] / cpus.length;
		}
		for (const l of page.lanes) if (l.kind === K.LOST) {
			const v = page.columns(l.index, 0, span, n);
			fine = fine && v.fine;
			for (let i = 0; i < n; i++) lost[i] = Math.max(lost[i], v.share[i * 4 + 3]);
		}
		c.fillStyle = theme["--run"];
		for (let i = 0; i < n; i++) c.fillRect(left + i, 42 - 36 * Math.min(1, busy[i]), 1, 36 * Math.min(1, busy[i]));
		c.fillStyle = theme["--lost"];
		for (let i = 0; i < n; i++) if (lost[i] > 0) c.fillRect(left + i, 2, 1, 4);
		wholeIs = fine || page.alone ? is : "";
	}
	/* The same, with what was found, and which part is shown. */
	page.drawOverview = () => {
		const w = $("overview").clientWidth, c = fit($("overview"), w, 46), n = Math.max(20, Math.floor(w - left - RIGHT)), span = Math.max(1, page.meta.span);
		drawWhole(w, n, span);
		c.drawImage(whole, 0, 0, w, 46);
		if (page.density) {
			const most = Math.max(1, ...page.density), k = page.density.length;
			c.fillStyle = theme["--hit"];
			page.density.forEach((d, i) => { if (d) c.fillRect(left + i / k * n, 42 - 34 * Math.max(0.12, d / most), Math.max(1.5, n / k), 34 * Math.max(0.12, d / most)); });
		}
		c.fillStyle = theme["--soft"];
		c.fillText("busy CPUs", 8, 23);
		const x0 = left + page.view.from / span * n, x1 = left + page.view.to / span * n;
		c.fillStyle = "rgba(120,130,150,0.28)";
		c.fillRect(left, 2, Math.max(0, x0 - left), 42);
		c.fillRect(x1, 2, Math.max(0, left + n - x1), 42);
		c.strokeStyle = theme["--ink"];
		c.strokeRect(x0, 2.5, Math.max(2, x1 - x0), 41);
	};

	let said = "";
	page.about = () => {
		const m = page.meta, e = $("about"), words = [];
		if (!m) return;
		if (page.live.on) words.push([page.live.state === "on" ? "span" : "b", page.live.words()]);
		words.push(["span", `${page.count(m.events)} events, ${page.amount(m.span)}`], ["span", `shown: ${page.amount(page.view.to - page.view.from)} from ${page.stamp(page.view.from)}`]);
		if (page.reading) words.push(["span", "reading finer detail \u2026"]);
		else if (page.thinned) words.push(["span", "dense parts are summed up (fathom view has every span)"]);
		if (m.lost) words.push(["b", `lost: ${m.lost}`]);
		if (m.forgotten) words.push(["span", `rows of ${page.count(m.forgotten)} tasks that are over have left the picture`]);
		if (m.refused) words.push(["b", `${page.count(m.refused)} spans of more rows than can be kept are not shown`]);
		if (page.lostServer) words.push(["b", `the server is gone (${page.lostServer})`]);
		const now = words.join();
		if (now === said) return;
		said = now;
		e.replaceChildren(...words.flatMap(([tag, text], i) => i ? ["; ", page.make(tag, {}, text)] : [page.make(tag, {}, text)]));
	};
})();
