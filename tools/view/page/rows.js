/* rows.js -- lanes gathered into rows: CPUs, markers, counters, tasks; which are shown, in which order, how high. */
(function () {
	const K = page.KIND, rows = page.rows = [];
	page.AXIS = 22;
	const HEIGHT = { [K.CPU]: 20, [K.IRQ]: 9, [K.LOST]: 0, [K.MARKS]: 10, [K.TASK]: 16, [K.WAKES]: 0, [K.IPC]: 8, [K.SPANS]: 14, [K.CALLS]: 15,
		[K.MARKERS]: 30, [K.SAMPLES]: 8, [K.COUNTER]: 30 };
	const ORDER = [K.IRQ, K.CPU, K.TASK, K.SPANS, K.IPC, K.CALLS, K.SAMPLES, K.MARKS, K.MARKERS, K.COUNTER];
	const GAP = 5, SMALL = 17;

	page.groups = [["pinned", "Pinned"], ["cpu", "CPUs"], ["marker", "Markers"], ["counter", "Counters"], ["task", "Tasks"]];
	page.closed = new Set(); /* keys of groups and rows */
	page.hidden = new Set();
	page.pinned = new Set();
	page.order = "cpu";
	page.rowFilter = "";

	function place(l) {
		if (l.kind === K.MARKERS) return ["marker", "m", "markers"];
		if (l.kind === K.COUNTER) return ["counter", `n${l.id}`, page.name(l.id)];
		if (l.kind < K.TASK || l.kind === K.SAMPLES) return ["cpu", `c${l.id}`, `CPU ${l.id}`];
		if (l.cpu) return ["task", `i${l.cpu - 1}`, `idle, CPU ${l.cpu - 1}`];
		return ["task", `t${(page.meta.tasks[l.id] || [0])[0]}`, page.task(l.id)];
	}

	/* A lane that is no more; a row without lanes goes, too. */
	page.leaveRow = (l) => {
		const r = l.row;
		if (!r || r.lanes[l.kind][l.depth] !== l) return;
		delete r.lanes[l.kind][l.depth];
		if (!r.lanes[l.kind].some(Boolean)) delete r.lanes[l.kind];
		r.strips = [];
		if (Object.keys(r.lanes).length) return;
		byKey.delete(r.key);
		rows.splice(rows.indexOf(r), 1);
	};
	/* Of lanes that are new; the others are in their rows. */
	const byKey = new Map();
	page.makeRows = (lanes) => {
		for (const l of lanes) {
			const [group, key, label] = place(l);
			let r = byKey.get(key);
			if (!r) {
				r = { key, group, lanes: {}, strips: [], deep: {} };
				byKey.set(key, r);
				rows.push(r);
			}
			r.label = label;
			r.id = l.id;
			(r.lanes[l.kind] = r.lanes[l.kind] || [])[l.depth] = l;
			l.row = r;
		}
		page.arrange();
	};
	/* Time of a task by class: of one whose states are not known, that of its calls. */
	const time = (r, klass) => ((r.lanes[K.TASK] || (klass ? null : r.lanes[K.CALLS]) || [])[0] || { sum: [0, 0] }).sum[klass];
	/* Of a live target only tasks that did something in view: others are over, or were not there yet. */
	const isOver = (r) => page.live.on && r.group === "task" && r.last !== undefined && r.last < page.view.from;

	const base = (r) => r.label.replace(/-\d+$/, "");
	const pid = (r) => r.key[0] === "t" ? +r.key.slice(1) : -1;
	const idle = (r) => r.key[0] === "i" ? 1 : 0;
	const byId = (a, b) => a.id - b.id;
	const sorts = {
		cpu: (a, b) => time(b, 0) - time(a, 0) || pid(a) - pid(b), ready: (a, b) => time(b, 1) - time(a, 1) || pid(a) - pid(b),
		name: (a, b) => base(a).localeCompare(base(b)) || pid(a) - pid(b), pid: (a, b) => pid(a) - pid(b),
	};

	/* Tasks of one name under a heading of their own, those with most CPU time first; a name that one task has needs none. */
	const family = (r) => `g-task/${encodeURIComponent(base(r))}`;
	page.familyOf = (r) => r.group === "task" ? family(r) : null;
	const heading = (key, group, label) => ({ key, group, heading: true, label, strips: [], height: SMALL + 2 });
	function families(of) {
		const by = new Map(), out = [];
		for (const r of of) by.set(family(r), [...by.get(family(r)) || [], r]);
		const total = (list) => list.reduce((t, r) => t + time(r, 0), 0);
		for (const [key, list] of [...by].sort((a, b) => idle(a[1][0]) - idle(b[1][0]) || total(b[1]) - total(a[1]))) {
			if (list.length > 1) out.push(heading(key, "task", `${base(list[0])} (${list.length})`));
			if (list.length === 1 || !page.closed.has(key)) out.push(...list);
		}
		return out;
	}

	/* The rows that are shown, from the top. Heights follow in layout(). */
	page.arrange = () => {
		const text = page.rowFilter.toLowerCase(), shown = page.shown = [];
		for (const [group, title] of page.groups) {
			const of = rows.filter((r) => (group === "pinned" ? page.pinned.has(r.key) : r.group === group && !page.pinned.has(r.key) && !isOver(r)) &&
				!page.hidden.has(r.key) && (!text || r.label.toLowerCase().includes(text)));
			if (!of.length) continue;
			of.sort(group === "task" ? (a, b) => idle(a) - idle(b) || (sorts[page.order] || sorts.cpu)(a, b) : group === "cpu" ? byId : () => 0);
			const tell = group === "task" || group === "cpu" ? ` (${of.length})` : "";
			shown.push(heading(`g-${group}`, group, title + tell));
			if (!page.closed.has(`g-${group}`)) shown.push(...(group === "task" && page.order === "group" ? families(of) : of));
		}
		page.$("showall").hidden = !page.hidden.size;
		page.layout();
	};

	/* Is anything of the lane in view? undefined: not known yet. */
	function content(l) {
		const { from, to } = page.view, level = page.levelFor((to - from) / 1024), w = page.tileWidth(level);
		let unknown = false;
		for (let i = Math.max(0, Math.floor(from / w)); i <= Math.min(2 ** level - 1, Math.floor(to / w)); i++) {
			const got = page.tile(l.index, level, i);
			if (!got) { unknown = true; continue; }
			const t = got.tile;
			if (t.mode === 0) {
				for (let k = 0; k < t.nr; k++) if (t.from[k] < to && t.from[k] + t.len[k] > from) return true;
			} else {
				const p = page.tileWidth(t.level) / 256, base = t.index * page.tileWidth(t.level);
				const a = Math.max(0, Math.floor((from - base) / p)), b = Math.min(255, Math.floor((to - base) / p));
				for (let k = a; k <= b; k++) if (t.share ? t.share[k * 4] : t.count[k]) return true;
			}
		}
		return unknown ? undefined : false;
	}

	/* A row is as high as what is in view: of calls, as many as nest there. */
	function strips(r, visible) {
		const out = [];
		let y = 2;
		const closed = page.closed.has(r.key);
		for (const kind of ORDER) {
			const list = r.lanes[kind];
			if (!list) continue;
			for (let d = 0; d < list.length; d++) {
				if (!list[d]) continue;
				const many = kind === K.CALLS || kind === K.SPANS || kind === K.IPC || kind === K.IRQ, high = Math.round(HEIGHT[kind] * scale);
				if (many && (d || r.group === "task") && visible) {
					const has = content(list[d]);
					if (has !== undefined) r.deep[kind * 4096 + d] = has;
				}
				if (many && r.deep[kind * 4096 + d] === false && (d || out.length)) continue;
				if (closed && out.length) continue;
				const at = kind === K.CALLS && !closed ? y + d * high - skipped(list, d) * high : y;
				out.push({ lane: list[d], kind, y: kind === K.CALLS ? at : y, h: closed ? Math.min(14, high) : high });
				if (kind !== K.CALLS) y += out[out.length - 1].h;
			}
			if (kind === K.CALLS && out.length) y = Math.max(y, ...out.map((s) => s.y + s.h));
		}
		r.strips = out;
		r.height = Math.max(SMALL, y + GAP - 2);
	}
	const skipped = (list, d) => { let n = 0; for (let i = 0; i < d; i++) if (!list[i]) n++; return n; };

	/* Few rows in much room are higher. */
	const SCALES = [2.5, 2, 1.5];
	let scale = 1;
	page.layout = () => {
		stack();
		const fits = SCALES.find((s) => (page.height - page.AXIS) / scale * s + page.AXIS < page.stageHeight) || 1;
		if (fits === scale) return;
		scale = fits;
		for (const r of page.shown) r.strips = [];
		stack();
	};
	function stack() {
		const top = page.scrollTop || 0, bottom = top + (page.stageHeight || 800);
		let y = page.AXIS;
		for (const r of page.shown) {
			if (!r.heading) {
				const seen = r.y === undefined ? y < bottom : y < bottom && y + (r.height || SMALL) > top;
				if (seen || !r.strips.length || r.wasClosed !== page.closed.has(r.key)) strips(r, seen);
				r.wasClosed = page.closed.has(r.key);
			}
			r.y = y;
			y += r.height;
		}
		page.height = y + 4;
	}

	page.rowAt = (y) => page.shown.find((r) => y >= r.y && y < r.y + r.height) || null;
	page.rowOfTask = (number) => rows.find((r) => r.group === "task" && r.lanes[K.TASK] && r.lanes[K.TASK][0].id === number) || null;
})();
