/* data.js -- answers: from the server, or from the page itself. Tiles of lanes are kept, the least used are dropped. */
(function () {
	const KIND = page.KIND = { CPU: 0, IRQ: 1, LOST: 2, MARKS: 3, TASK: 4, WAKES: 5, IPC: 6, SPANS: 7, CALLS: 8, MARKERS: 9, SAMPLES: 10, COUNTER: 11 };
	const SPANS = 0, TIMES = 1, PARTS = 256, KEEP = 6000;
	const tiles = []; /* by lane: maps by place() */
	const asked = new Set();
	let kept = 0, turn = 0; /* tiles that are here; the drawing in which one was used last */
	const place = (level, index) => index * 64 + level;
	let waiting = null;

	page.WHAT = 0xffffff;
	page.counts = (kind) => kind === KIND.MARKS || kind === KIND.MARKERS || kind === KIND.SAMPLES;

	const decode = Uint8Array.fromBase64 ? (text) => Uint8Array.fromBase64(text) : (text) => {
		const s = atob(text), bytes = new Uint8Array(s.length);
		for (let i = 0; i < bytes.length; i++) bytes[i] = s.charCodeAt(i);
		return bytes;
	};
	async function unpack(id) {
		const e = page.$(id);
		if (!e) return null;
		const bytes = decode(e.textContent);
		e.remove();
		return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
	}
	const parse = (buffer) => buffer && exact(new TextDecoder().decode(buffer));
	/* Integers that a number cannot hold stay text: times since 1970 have more than 53 bits. */
	const exact = (text) => JSON.parse(!/\d{16}/.test(text) ? text : text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (s) => s[0] === '"' || Number.isSafeInteger(+s) ? s : `"${s}"`));
	/* An instant of an answer, from the trace's start on. */
	page.since = (v) => Number(BigInt(v) - BigInt(page.meta.start));

	/* The bytes of tiles.h: level, index, how many, the index's upper half; then the lanes. `number` of the request, and how long the trace was then. */
	function take(buffer, number = 0, span = 0) {
		const v = new DataView(buffer);
		let at = 0;
		while (at + 16 <= buffer.byteLength) {
			const level = v.getUint32(at, true), index = v.getUint32(at + 4, true) + v.getUint32(at + 12, true) * 2 ** 32, end = at + 16 + v.getUint32(at + 8, true);
			for (at += 16; at < end;) {
				const lane = v.getUint32(at, true), head = v.getUint32(at + 4, true), nr = head >>> 8, mode = head & 255;
				const tile = { mode, nr, level, index, number, used: turn };
				at += 8;
				if (mode === SPANS) {
					tile.from = new Float64Array(buffer, at, nr);
					tile.len = new Float64Array(buffer, at + nr * 8, nr);
					tile.what = new Uint32Array(buffer, at + nr * 16, nr);
					at += nr * 16 + (nr + 1 >> 1) * 8;
				} else {
					if (mode === TIMES) tile.share = new Uint8Array(buffer, at, nr * 4);
					else tile.count = new Uint32Array(buffer, at, nr);
					tile.top = new Uint32Array(buffer, at + nr * 4, nr);
					at += nr * 8;
				}
				const of = tiles[lane] = tiles[lane] || new Map(), key = place(level, index);
				if (of.has(key) && of.get(key).number > number) continue; /* a later answer came earlier */
				if (!of.has(key)) kept++;
				of.set(key, tile);
				if (page.meta.span > span && (index + 1) * page.tileWidth(level) > span && !page.alone) { /* it has grown since it was asked for */
					tile.stale = true;
					asked.delete(`${lane}/${level}/${index}`);
				}
			}
		}
	}

	/* Half of them, those that were not used for the longest time. The coarsest stay. */
	function forget() {
		if (kept <= KEEP) return;
		const all = [];
		tiles.forEach((of, lane) => of.forEach((tile, key) => { if (tile.level > 1) all.push([tile.used, lane, key]); }));
		all.sort((a, b) => a[0] - b[0]);
		for (const [, lane, key] of all.slice(0, kept - KEEP / 2)) {
			const { level, index } = tiles[lane].get(key);
			tiles[lane].delete(key);
			asked.delete(`${lane}/${level}/${index}`);
			kept--;
		}
	}

	/* What reaches beyond a time is out of date: it is shown until it comes again. */
	page.stale = (since) => {
		tiles.forEach((of, lane) => {
			for (const tile of of.values())
				if ((tile.index + 1) * page.tileWidth(tile.level) > since) { tile.stale = true; asked.delete(`${lane}/${tile.level}/${tile.index}`); }
		});
	};

	page.turn = (next) => turn += next ? 1 : 0; /* drawings so far */
	page.tileWidth = (level) => 2 ** (page.meta.scale - level);
	/* The level whose parts are not wider than a pixel. */
	page.levelFor = (perPixel) => Math.max(0, Math.min(page.meta.scale - 8, Math.ceil(page.meta.scale - 8 - Math.log2(Math.max(perPixel, 1e-9)))));

	/* The best that is here: the tile, one of all spans above it, or a coarser one (then `fine` is false). */
	page.tile = (lane, level, index) => {
		const of = tiles[lane];
		for (let l = level, i = index; of && l >= 0; l--, i = Math.floor(i / 2)) {
			const tile = of.get(place(l, i));
			if (!tile) continue;
			tile.used = turn;
			return { tile, fine: l === level || tile.mode === SPANS };
		}
		return null;
	};

	/* Ask for what is not here: [lane, level, index] each. What one drawing misses is asked together, a request per run of tiles. */
	let wanted = [];
	page.want = (list) => {
		if (page.alone || !list.length) return;
		if (!wanted.length) queueMicrotask(request);
		wanted.push(...list);
	};
	/* The same at once: the server works while what is here is drawn. */
	page.wantAhead = (lanes) => {
		const { from, to } = page.view, level = page.levelFor((to - from) / page.plotWidth()), w = page.tileWidth(level);
		if (page.alone) return;
		for (const l of lanes)
			for (let i = Math.max(0, Math.floor(from / w)); i <= Math.min(2 ** level - 1, Math.floor(to / w)); i++) {
				const got = page.tile(l.index, level, i);
				if (!got || !got.fine || got.tile.stale) wanted.push([l.index, level, i]);
			}
		request();
	};
	/* How many of a lane that counts are in a time, from the tiles that are drawn of it; Infinity: not known yet. */
	page.howMany = (lane, from, to) => {
		const level = page.levelFor((to - from) / page.plotWidth()), w = page.tileWidth(level);
		let n = 0;
		for (let i = Math.max(0, Math.floor(from / w)); i <= Math.min(2 ** level - 1, Math.floor(to / w)); i++) {
			const got = page.tile(lane, level, i);
			if (!got || !got.fine && !page.alone) return Infinity;
			const t = got.tile, p = page.tileWidth(t.level) / PARTS, base = t.index * page.tileWidth(t.level), share = Math.min(1, w / p);
			const a = Math.max(0, Math.floor((Math.max(from, i * w) - base) / p)), b = Math.min(PARTS, Math.ceil((Math.min(to, (i + 1) * w) - base) / p));
			for (let k = a; t.count && k < b; k++) n += t.count[k] * share;
		}
		return n;
	};
	function request() {
		const by = new Map(), list = wanted;
		wanted = [];
		for (const [lane, level, index] of list) {
			const key = `${lane}/${level}/${index}`;
			if (asked.has(key)) continue;
			asked.add(key);
			const group = `${level}/${index}`;
			if (!by.has(group)) by.set(group, []);
			by.get(group).push(lane);
		}
		if (!by.size) return;
		const asks = new Map();
		for (const [group, lanes] of by) {
			const [level, index] = group.split("/").map(Number), key = `${level}|${runs(lanes)}`;
			if (!asks.has(key)) asks.set(key, { level, lanes: runs(lanes), index: [] });
			asks.get(key).index.push(index);
		}
		for (const a of asks.values()) {
			a.index.sort((x, y) => x - y);
			for (let i = 0, k; i < a.index.length; i = k) {
				for (k = i + 1; k < a.index.length && a.index[k] === a.index[k - 1] + 1;) k++;
				fetchTiles(a.level, a.index[i], k - i, a.lanes);
			}
		}
	}

	function runs(lanes) {
		const out = [];
		lanes.sort((a, b) => a - b);
		for (let i = 0, k; i < lanes.length; i = k) {
			for (k = i + 1; k < lanes.length && lanes[k] === lanes[k - 1] + 1;) k++;
			out.push(k - i > 1 ? `${lanes[i]}-${lanes[k - 1]}` : lanes[i]);
		}
		return out.join(",");
	}

	let pending = 0, requests = 0;
	async function fetchTiles(level, first, n, lanes) {
		const number = ++requests, span = page.meta.span;
		pending++;
		try {
			const r = await fetch(`tiles?level=${level}&first=${first}&n=${n}&lanes=${lanes}`);
			if (r.ok) take(await r.arrayBuffer(), number, span);
			else page.gone(r.status);
		} catch (x) {
			page.gone(0);
		}
		pending--;
		forget();
		if (!pending && !waiting) page.arrived();
		else if (!waiting) waiting = requestAnimationFrame(() => { waiting = null; page.arrived(); });
	}
	page.pending = () => pending + wanted.length;
	page.gone = (status) => { page.lostServer = status || "no answer"; page.about(); };

	/* A question in JSON. Of a page for itself the answer is null. */
	page.ask = async (what, parameters) => {
		if (page.alone) return null;
		const q = new URLSearchParams(parameters).toString();
		try {
			const r = await fetch(q ? `${what}?${q}` : what);
			if (!r.ok) return { error: (await r.text()).trim() || `error ${r.status}` };
			return exact(await r.text());
		} catch (x) {
			page.gone(0);
			return { error: "the server does not answer" };
		}
	};

	/* The spans of a lane that reach into a time, from what is here; null if only sums are. A page for itself has no more than is here. */
	page.spans = (lane, from, to) => {
		const out = [], seen = new Map(), level = page.levelFor((to - from) / 1024); /* by where it begins, the length of the last: a span that reaches into the next tile is there again */
		const each = (level, f) => {
			const w = page.tileWidth(level), last = Math.min(2 ** level - 1, Math.floor(to / w));
			for (let i = Math.max(0, Math.floor(from / w)); i <= last; i++) if (!f(i, w)) return false;
			return true;
		};
		const take = (t) => {
			for (let k = 0; k < t.nr && t.from[k] <= to; k++) {
				const f = t.from[k];
				if (f + t.len[k] < from || seen.get(f) === t.len[k]) continue;
				seen.set(f, t.len[k]);
				out.push({ from: f, len: t.len[k], what: t.what[k] });
			}
			return true;
		};
		const gather = (level, i, w) => {
			const got = page.tile(lane, level, i);
			if (!got || got.tile.stale) page.want([[lane, level, i]]);
			if (!got) return false;
			if (got.tile.mode === SPANS) return take(got.tile);
			return page.alone && got.fine && [2 * i, 2 * i + 1].every((k) => k * w / 2 > to || (k + 1) * w / 2 < from || gather(level + 1, k, w / 2));
		};
		return each(level, (i, w) => gather(level, i, w)) ? out : null;
	};

	/*
	 * Time of each class, and what has most of it, in `n` equal parts of a time: { share: Float64Array of n * 4, top, fine }.
	 * Of lanes that count, share[4 * i] is how many; of counters, top is the highest value. Where there are only sums, a column is made of whole parts of them, those
	 * whose middle lies in it: its numbers are right for them, and it lies within half a part of its place.
	 */
	const scratch = { most: new Float64Array(0), cover: null };
	page.columns = (lane, from, to, n) => {
		const width = (to - from) / n, level = page.levelFor(width), w = page.tileWidth(level), kind = page.lanes[lane].kind, counts = page.counts(kind), counter = kind === KIND.COUNTER;
		const out = { share: new Float64Array(n * 4), top: new Uint32Array(n), fine: true }, want = [];
		if (scratch.most.length < n) { scratch.most = new Float64Array(n); scratch.cover = new Float64Array(n); }
		const { most, cover } = scratch;
		most.fill(0, 0, n);
		cover.fill(0, 0, n);
		const best = counter ? (i, _, bits) => { out.top[i] = Math.max(out.top[i], bits); } : /* positive floats are in the order of their bits */
			(i, busy, what) => { if (busy > most[i]) { most[i] = busy; out.top[i] = what & page.WHAT; } };
		/* f(column, time of it) for the columns that a time reaches into */
		const each = (a, b, f) => {
			const last = Math.min(n - 1, Math.floor((b - from) / width));
			for (let i = Math.max(0, Math.floor((a - from) / width)); i <= last; i++) {
				const t = Math.min(b, from + (i + 1) * width) - Math.max(a, from + i * width);
				if (t > 0 || a === b) f(i, t);
			}
		};
		const spans = (tile, t0, t1) => {
			each(t0, t1, (i, t) => { cover[i] += t; });
			for (let k = 0; k < tile.nr && tile.from[k] <= t1; k++) {
				const a = Math.max(t0, tile.from[k]), b = Math.min(t1, tile.from[k] + tile.len[k]), c = counter ? 0 : tile.what[k] >>> 24 & 3;
				if (b < a || counter && b === a) continue;
				const i = Math.floor((a - from) / width);
				if (b > a && i >= 0 && i < n && b < from + (i + 1) * width) { /* most lie in one column */
					out.share[i * 4 + c] += b - a;
					if (!c) best(i, b - a, tile.what[k]);
				} else each(a, b, (i, t) => { out.share[i * 4 + c] += t; if (!c) best(i, t, tile.what[k]); });
			}
		};
		const part = (tile, k, i, time, share) => {
			cover[i] += time;
			if (counts) out.share[i * 4] += tile.count[k] * share;
			else for (let c = 0; c < 4; c++) out.share[i * 4 + c] += tile.share[k * 4 + c] / 255 * time;
			best(i, counts ? tile.count[k] : tile.share[k * 4] * time, tile.top[k]);
		};
		const sums = (tile, t0, t1) => {
			const p = page.tileWidth(tile.level) / PARTS, base = tile.index * page.tileWidth(tile.level);
			if (p > width) { /* each column takes the part at its middle */
				for (let i = Math.max(0, Math.floor((t0 - from) / width)); i < n; i++) {
					const t = from + (i + 0.5) * width;
					if (t >= t1) break;
					if (t >= t0) part(tile, Math.min(PARTS - 1, Math.max(0, Math.floor((t - base) / p))), i, width, width / p);
				}
				return;
			}
			const first = Math.max(0, Math.ceil((Math.max(t0, from) - base) / p - 0.5)), { share, top } = tile, unit = p / 255, sum = out.share;
			const last = Math.min(PARTS, Math.ceil((t1 - base) / p)), step = p / width;
			for (let k = first, x = (base + (first + 0.5) * p - from) / width; k < last; k++, x += step) {
				const i = x | 0;
				if (i >= n) break;
				if (counts || counter) { part(tile, k, i, p, 1); continue; }
				const q = k * 4, o = i * 4, busy = share[q] * p;
				cover[i] += p;
				sum[o] += share[q] * unit;
				sum[o + 1] += share[q + 1] * unit;
				sum[o + 2] += share[q + 2] * unit;
				sum[o + 3] += share[q + 3] * unit;
				if (busy > most[i]) { most[i] = busy; out.top[i] = top[k]; }
			}
		};
		for (let i = Math.max(0, Math.floor(from / w)); i <= Math.min(2 ** level - 1, Math.floor((to - 1e-9) / w)); i++) {
			const got = page.tile(lane, level, i);
			if (!got || !got.fine) { want.push([lane, level, i]); out.fine = false; }
			else if (got.tile.stale) want.push([lane, level, i]);
			if (got) (got.tile.mode === SPANS ? spans : sums)(got.tile, i * w, (i + 1) * w);
		}
		for (let i = 0, o = 0; !counts && i < n; i++) {
			const per = 1 / Math.max(cover[i], 1e-9);
			for (const end = o + 4; o < end; o++) out.share[o] *= per;
		}
		if (want.length) page.want(want);
		return out;
	};

	/* New ones. A number that another lane had is given to this one: what was here of that is dropped. */
	page.addLanes = (list) => list.map(([index, kind, id, depth, cpu, nr, ...sum]) => {
		if (page.lanes[index]) {
			page.leaveRow(page.lanes[index]);
			if (tiles[index]) for (const { level, index: i } of tiles[index].values()) { asked.delete(`${index}/${level}/${i}`); kept--; }
			delete tiles[index];
		}
		return page.lanes[index] = { index, kind, id, depth, cpu, nr, sum };
	}).filter((l) => l.kind <= KIND.COUNTER);
	page.load = async () => {
		const asked = page.$("asked"), [meta, tiles] = asked ? [] : await Promise.all([unpack("meta"), unpack("tiles-0")]);
		page.alone = !asked;
		page.meta = asked ? exact(asked.textContent) : parse(meta);
		page.lanes = [];
		page.fresh = page.addLanes(page.meta.lanes);
		if (tiles) take(tiles);
	};

	/* The rest of it: finer levels and the list of events, once the first picture is drawn. */
	page.loadRest = async () => {
		if (!page.alone) return;
		page.reading = true;
		page.about();
		if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go));
		for (let k = 1, packed; (packed = await unpack(`tiles-${k}`)); k++) take(packed);
		page.embedded = parse(await unpack("events"));
		page.reading = false;
		page.draw();
	};
})();
