/* input.js -- what a person does: mouse, keys, touch; labels of rows, tabs, the address that restores a view. */
(function () {
	const K = page.KIND, $ = page.$, make = page.make, canvas = $("lanes"), main = $("main"), tip = $("tip");
	page.mark = { A: null, B: null };
	page.range = page.picked = null;
	page.arrows = [];
	page.tab = "details";

	let frame = null;
	page.redraw = () => { if (!frame) frame = requestAnimationFrame(() => { frame = null; page.draw(); }); };
	page.arrived = () => { page.draw(); pickAgain(); page.connect(); };

	/* ---- the view ---- */

	const trail = [];
	page.show = (a, b, quiet) => {
		const span = Math.max(1, page.meta.span), least = page.meta.ns ? 20 : 4;
		const w = Math.min(span, Math.max(least, b - a)), from = Math.max(0, Math.min(span - w, a));
		if (!quiet) remember();
		page.watched(from, from + w, page.view);
		page.view = { from, to: from + w };
		page.draw();
		page.showList();
		save();
	};
	let remembered = 0;
	function remember() { /* a run of zooms is one step back */
		const now = Date.now();
		if (now - remembered > 600) { trail.push({ ...page.view }); if (trail.length > 100) trail.shift(); }
		remembered = now;
	}
	const back = () => { const v = trail.pop(); if (v) page.show(v.from, v.to, true); };
	const zoom = (factor, t) => page.show(t - (t - page.view.from) * factor, t + (page.view.to - t) * factor);
	const move = (share) => { const w = (page.view.to - page.view.from) * share; page.show(page.view.from + w, page.view.to + w); };
	const centre = () => (page.view.from + page.view.to) / 2;

	/* The address says what is shown, so that it can be kept and sent. */
	let saving = null;
	const save = page.save = () => {
		clearTimeout(saving);
		saving = setTimeout(() => {
			const s = new URLSearchParams();
			if (!page.live.on || page.live.paused) s.set("view", `${page.view.from},${page.view.to}`);
			if (page.range) s.set("range", `${page.range.from},${page.range.to}`);
			for (const n of ["A", "B"]) if (page.mark[n] !== null) s.set(n, page.mark[n]);
			for (const [k, v] of [["closed", page.closed], ["hidden", page.hidden], ["pinned", page.pinned]]) if (v.size) s.set(k, [...v].join(","));
			if (page.order !== "cpu") s.set("sort", page.order);
			if (page.rowFilter) s.set("rows", page.rowFilter);
			if (page.tab !== "details") s.set("tab", page.tab);
			if ($("search").value) s.set("search", $("search").value);
			if (page.listFilter) s.set("filter", page.listFilter);
			const p = page.picked;
			if (p && p.strip && !p.event && !p.sums) s.set("pick", [p.row.key, p.lane.kind, p.lane.depth, p.from]);
			try { history.replaceState(null, "", `#${s}`); } catch (x) { location.replace(`#${s}`); }
		}, 200);
	};
	function restore(hash) {
		const s = new URLSearchParams(hash.slice(1));
		const pair = (k) => { const v = (s.get(k) || "").split(",").map(Number); return v.length === 2 && v.every(Number.isFinite) && v[1] >= v[0] ? { from: v[0], to: v[1] } : null; };
		page.view = pair("view") || { from: 0, to: Math.max(1, page.meta.span) };
		page.range = pair("range");
		for (const n of ["A", "B"]) page.mark[n] = s.has(n) && Number.isFinite(+s.get(n)) ? +s.get(n) : null;
		for (const [k, v] of [["closed", page.closed], ["hidden", page.hidden], ["pinned", page.pinned]]) {
			v.clear();
			(s.get(k) || "").split(",").filter(Boolean).forEach((x) => v.add(x));
		}
		if (["cpu", "ready", "name", "pid", "group"].includes(s.get("sort"))) page.order = $("sort").value = s.get("sort");
		page.rowFilter = $("rowfilter").value = s.get("rows") || "";
		$("search").value = s.get("search") || "";
		page.listFilter = s.get("filter") || "";
		toPick = (s.get("pick") || "").split(",");
		return s.get("tab");
	}
	/* What was picked is picked again once its span is here. */
	let toPick = [];
	function pickAgain() {
		const [key, kind, depth] = toPick, from = +toPick[3], row = page.rows.find((r) => r.key === key), lane = row && (row.lanes[kind] || [])[depth];
		const strip = lane && row.strips.find((s) => s.lane === lane), spans = strip && page.spans(lane.index, from, from);
		if (!spans) return;
		toPick = [];
		const span = spans.find((s) => s.from === from);
		if (span) page.pick({ row, strip, lane, ...span });
	}

	/* ---- what is at a place ---- */

	page.find = (x, y) => {
		const row = page.rowAt(y + main.scrollTop), t = page.tOf(x), slack = 3 * (page.view.to - page.view.from) / page.plotWidth();
		if (!row || row.heading || x < page.left() || y < page.AXIS) return null;
		const at = (l, wide) => {
			const spans = page.spans(l.index, t - wide, t + wide);
			if (!spans) { /* the sums of the pixel, as they are drawn */
				const c = page.columns(l.index, t - slack / 6, t + slack / 6, 1);
				return c.fine || c.share.some(Boolean) ? c : null;
			}
			let best = null;
			const away = (s) => Math.max(0, s.from - t, t - s.from - s.len);
			for (const s of spans) if (away(s) <= wide && !(l.kind === K.CPU && (s.what >>> 24 & 3) === 1 && best) && (!best || away(s) < away(best) || away(s) === away(best) && s.len < best.len)) best = s;
			return best;
		};
		for (const l of row.lanes[K.LOST] || []) {
			const s = l && at(l, slack / 2);
			if (s && s.from !== undefined) return { row, lane: l, ...s };
		}
		const strip = row.strips.find((s) => y + main.scrollTop >= row.y + s.y && y + main.scrollTop < row.y + s.y + s.h);
		if (!strip) return null;
		if (page.counts(strip.kind)) {
			const event = page.eventAt(strip.lane, t, slack);
			if (event) return { row, strip, lane: strip.lane, event, from: event.t, len: 0 };
		}
		const s = at(strip.lane, slack / 2);
		return !s ? null : s.share ? { row, strip, lane: strip.lane, sums: s, from: t, len: 0 } : { row, strip, lane: strip.lane, ...s };
	};

	page.tell = (hit) => {
		const l = hit.lane, where = hit.row.label;
		if (hit.event) return page.tellEvent(hit.event);
		if (hit.sums) {
			const s = hit.sums.share, name = page.nameOf(l, hit.sums.top[0]);
			if (l.kind === K.COUNTER) return `${where}: at most ${page.count(page.value(hit.sums.top[0]))} here\nat ${page.stamp(hit.from)}; summed up: zoom in for each value`;
			if (page.counts(l.kind)) return `${page.count(s[0])} events here, mostly ${name}\n${where}, at ${page.stamp(hit.from)}; zoom in for each`;
			if (l.kind === K.TASK) return `running ${page.percent(s[0])}, ready ${page.percent(s[1])}, blocked ${page.percent(s[2])}${s[3] ? `, not known ${page.percent(s[3])}` : ""}\n${where}, at ${page.stamp(hit.from)}; summed up: zoom in for each span`;
			return `${page.percent(Math.min(1, s[0]))} busy, mostly ${name}\n${where}, at ${page.stamp(hit.from)}; summed up: zoom in for each span`;
		}
		const flags = hit.what >>> 26, doubt = [];
		if (l.kind === K.COUNTER) return `${where}: ${page.count(page.value(hit.what))}\nfrom ${page.stamp(hit.from)} to ${page.stamp(hit.from + hit.len)}`;
		if (l.kind !== K.LOST) {
			if (flags & 1) doubt.push("it began before what was seen");
			if (flags & 2) doubt.push(page.live.on && page.live.state === "on" ? "it goes on" : "it was going on when the trace ended");
			if (flags & 4) doubt.push("it was going on when events were lost");
			if (flags & 8) doubt.push("events were lost meanwhile: at most so long");
			if (flags & 16) doubt.push("guessed: the trace has no switches");
			if (flags & 32) doubt.push("no wakeup was seen: it may have been ready for a part of it");
		}
		const name = l.kind === K.CPU && (hit.what >>> 24 & 3) === 1 ? "idle" : page.nameOf(l, hit.what);
		return `${name}${l.kind === K.TASK && !(hit.what >>> 24 & 3) ? ` on CPU ${hit.what & page.WHAT}` : ""}  ${page.amount(hit.len)}\n${where}, ${page.stamp(hit.from)} to ${page.stamp(hit.from + hit.len)}` +
			(doubt.length ? `\n${doubt.join("; ")}` : "") + (hit.waited !== undefined ? `\nwaited ${page.amount(hit.waited)} to run, woken by ${hit.waker}` : "");
	};

	/* Arrows of what is picked: who woke it, who sent to it. */
	page.connect = () => {
		const p = page.picked;
		page.arrows = page.whyArrows ? page.whyArrows.slice() : [];
		if (!p || p.event || p.sums) return;
		const row = p.lane.kind === K.CPU ? page.rowOfTask(p.what & page.WHAT) : p.row.group === "task" ? p.row : null;
		if (!row) return;
		for (const kind of [K.WAKES, K.IPC]) for (const l of row.lanes[kind] || []) {
			if (!l) continue;
			for (const s of page.spans(l.index, p.from - 1, p.from + p.len + 1) || []) {
				if (kind === K.WAKES && Math.abs(s.from + s.len - p.from) <= 1) { p.waited = s.len; p.waker = page.task(s.what & page.WHAT); }
				const from = page.rowOfTask(s.what & page.WHAT);
				const there = (a) => a.fromRow === from && a.toRow === row && Math.abs(a.to - s.from) <= 1; /* the chain behind a wait has it */
				if (from && !page.arrows.some(there)) page.arrows.push({ fromRow: from, toRow: row, from: s.from, to: kind === K.IPC ? s.from + s.len : s.from });
			}
		}
		page.status(page.tell(p));
	};

	page.pick = (hit) => {
		page.picked = hit;
		page.whyArrows = null;
		page.arrows = [];
		$("cause").replaceChildren(...(hit ? [] : [legend()]));
		page.status(hit ? page.tell(hit) : "");
		if (hit && hit.event) page.chooseEvent(hit.event);
		page.connect();
		if (hit && page.explain) page.explain(hit);
		page.redraw();
		save();
	};

	page.tip = (text, e) => {
		tip.style.display = text ? "block" : "none";
		if (!text) return;
		tip.textContent = text;
		tip.style.left = `${Math.max(2, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 6))}px`;
		tip.style.top = `${Math.max(2, Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 6))}px`;
	};

	page.showRow = (row) => {
		if (!row) return;
		page.closed.delete(`g-${page.pinned.has(row.key) ? "pinned" : row.group}`);
		page.closed.delete(page.familyOf(row));
		page.hidden.delete(row.key);
		page.arrange();
		if (row.y < main.scrollTop + page.AXIS || row.y + row.height > main.scrollTop + main.clientHeight) main.scrollTop = Math.max(0, row.y - main.clientHeight / 3);
		page.redraw();
	};

	/* ---- mouse and touch ---- */

	canvas.addEventListener("wheel", (e) => {
		page.tip("");
		if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(2 ** (e.deltaY / 200), page.tOf(e.offsetX)); }
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); move((e.deltaX || e.deltaY) / page.plotWidth()); }
		else if (!e.altKey && page.height <= main.clientHeight + 1 || e.altKey) { e.preventDefault(); zoom(2 ** (e.deltaY / 300), page.tOf(e.offsetX)); }
	}, { passive: false });

	const fingers = new Map();
	let drag = null, pinch = null;
	canvas.addEventListener("pointerdown", (e) => {
		fingers.set(e.pointerId, e.offsetX);
		canvas.setPointerCapture(e.pointerId);
		page.tip("");
		if (fingers.size === 2) {
			const [a, b] = [...fingers.values()];
			pinch = { a: page.tOf(a), b: page.tOf(b) };
			drag = null;
			return;
		}
		const pan = e.button === 1 || e.shiftKey || e.pointerType === "touch";
		drag = { x: e.offsetX, y: e.clientY, top: main.scrollTop, view: { ...page.view }, pan, moved: false };
		main.focus({ preventScroll: true });
	});
	canvas.addEventListener("pointermove", (e) => {
		if (fingers.has(e.pointerId)) fingers.set(e.pointerId, e.offsetX);
		if (pinch && fingers.size === 2) {
			const [x0, x1] = [...fingers.values()];
			if (Math.abs(x1 - x0) < 8) return;
			const per = (pinch.b - pinch.a) / (x1 - x0), from = pinch.a - (x0 - page.left()) * per;
			if (per > 0) page.show(from, from + per * page.plotWidth());
			return;
		}
		if (!drag) { const hit = page.find(e.offsetX, e.offsetY); page.tip(hit ? page.tell(hit) : "", e); return; }
		if (Math.abs(e.offsetX - drag.x) > 3 || drag.pan && Math.abs(e.clientY - drag.y) > 3) drag.moved = true;
		if (!drag.moved) return;
		if (drag.pan) {
			const d = (drag.x - e.offsetX) / page.plotWidth() * (drag.view.to - drag.view.from);
			canvas.classList.add("drag");
			main.scrollTop = drag.top + drag.y - e.clientY;
			page.show(drag.view.from + d, drag.view.to + d);
		} else {
			const t = [page.tOf(drag.x), page.tOf(e.offsetX)].map((v) => Math.max(0, Math.min(page.meta.span, v))).sort((a, b) => a - b);
			page.range = { from: t[0], to: t[1] };
			page.redraw();
		}
	});
	canvas.addEventListener("pointerup", (e) => {
		const was = drag;
		fingers.delete(e.pointerId);
		if (fingers.size < 2) pinch = null;
		drag = null;
		canvas.classList.remove("drag");
		if (!was) return;
		if (!was.moved) page.pick(page.find(e.offsetX, e.offsetY));
		else if (!was.pan) page.choose(page.range);
		save();
	});
	canvas.addEventListener("pointercancel", () => { fingers.clear(); drag = pinch = null; });
	canvas.addEventListener("pointerleave", () => page.tip(""));
	canvas.addEventListener("dblclick", (e) => {
		const hit = page.find(e.offsetX, e.offsetY);
		if (!hit || !hit.len) return zoom(0.25, page.tOf(e.offsetX));
		page.show(hit.from - hit.len * 0.1, hit.from + hit.len * 1.1);
	});
	main.addEventListener("scroll", () => page.redraw());

	let moving = false;
	const centreAt = (e) => {
		const t = (e.offsetX - page.left()) / page.plotWidth() * page.meta.span, half = (page.view.to - page.view.from) / 2;
		page.show(t - half, t + half);
	};
	$("overview").addEventListener("pointerdown", (e) => { moving = true; $("overview").setPointerCapture(e.pointerId); centreAt(e); });
	$("overview").addEventListener("pointermove", (e) => { if (moving) centreAt(e); });
	$("overview").addEventListener("pointerup", () => { moving = false; });

	let sizing = null;
	const size = (h) => { $("panel").style.height = `${Math.max(34, Math.min(innerHeight - 160, h))}px`; page.redraw(); };
	$("sizer").addEventListener("pointerdown", (e) => { sizing = { y: e.clientY, h: $("panel").offsetHeight }; $("sizer").setPointerCapture(e.pointerId); });
	$("sizer").addEventListener("pointermove", (e) => { if (sizing) size(sizing.h + sizing.y - e.clientY); });
	$("sizer").addEventListener("pointerup", () => { sizing = null; });
	$("sizer").addEventListener("keydown", (e) => { if (e.key === "ArrowUp" || e.key === "ArrowDown") { e.stopPropagation(); size($("panel").offsetHeight + (e.key === "ArrowUp" ? 24 : -24)); } });

	/* ---- ranges, marks, tabs ---- */

	page.choose = (range) => {
		page.range = range;
		page.redraw();
		if (range && page.tab === "details") page.open("range");
		else if (page.tab === "range") page.showRange();
		if (page.tab === "stacks") page.showStacks();
		save();
	};
	page.tellMarks = () => {
		const { A, B } = page.mark;
		$("marks").textContent = (A !== null ? `A ${page.stamp(A)}` : "") + (B !== null ? `   B ${page.stamp(B)}` : "") + (A !== null && B !== null ? `   distance ${page.amount(Math.abs(B - A))}` : "");
		save();
	};
	const TABS = ["details", "range", "list", "stacks", "hits"];
	page.open = (name) => {
		page.tab = name;
		for (const t of TABS) {
			$(t).hidden = t !== name;
			$(`tab-${t}`).setAttribute("aria-selected", t === name);
			$(`tab-${t}`).tabIndex = t === name ? 0 : -1;
		}
		if (name === "range") page.showRange();
		if (name === "list") page.showList(true);
		if (name === "stacks") page.showStacks();
		if (name === "hits") page.showHits();
		save();
	};
	for (const t of TABS) $(`tab-${t}`).addEventListener("click", () => page.open(t));
	$("tabs").addEventListener("keydown", (e) => {
		const way = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
		if (!way) return;
		e.stopPropagation();
		page.open(TABS[(TABS.indexOf(page.tab) + way + TABS.length) % TABS.length]);
		$(`tab-${page.tab}`).focus();
	});

	/* ---- labels of rows ---- */

	let drawn = "";
	page.drawLabels = () => {
		const top = main.scrollTop, seen = page.shown.filter((r) => r.y + r.height > top + page.AXIS && r.y < top + main.clientHeight);
		const now = seen.map((r) => `${r.key}:${r.label}:${Math.round(r.y - top)}:${r.height}:${page.closed.has(r.key)}:${page.pinned.has(r.key)}`).join() + (page.picked ? page.picked.row.key : "");
		if (now === drawn) return;
		drawn = now;
		const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.of : null;
		$("labels").replaceChildren(...seen.map((r) => {
			const toggle = () => { if (!page.closed.delete(r.key)) page.closed.add(r.key); page.arrange(); page.redraw(); save(); };
			const set = (which) => () => { if (!which.delete(r.key)) which.add(r.key); page.arrange(); page.redraw(); save(); };
			const tool = (cls, text, what, f) => r.heading ? null : make("button", { class: `tool ${cls}`, title: what, "aria-label": `${what}: ${r.label}`, onclick: f }, text);
			const open = !page.closed.has(r.key);
			const e = make("div", { class: `row${r.heading ? " group" : ""}${page.pinned.has(r.key) ? " pinned" : ""}${page.picked && page.picked.row === r ? " picked" : ""}`, role: "listitem",
				style: `top:${r.y - top}px;height:${r.height}px` },
				make("button", { class: "name", "data-of": r.key, "aria-expanded": String(open), title: r.label, onclick: toggle }, `${open ? "\u25be" : "\u25b8"} ${r.label}`),
				tool("pin", "\u2691", page.pinned.has(r.key) ? "unpin" : "pin to the top", set(page.pinned)), tool("hide", "\u00d7", "hide", set(page.hidden)));
			return e;
		}));
		const again = focused && [...$("labels").querySelectorAll("[data-of]")].find((b) => b.dataset.of === focused);
		if (again) again.focus({ preventScroll: true });
	};
	$("rowfilter").addEventListener("input", () => { page.rowFilter = $("rowfilter").value; page.arrange(); page.redraw(); save(); });
	$("sort").addEventListener("change", () => { page.order = $("sort").value; page.arrange(); page.redraw(); save(); });
	$("showall").addEventListener("click", () => { page.hidden.clear(); page.arrange(); page.redraw(); save(); });
	$("rowsform").addEventListener("submit", (e) => e.preventDefault());

	/* ---- keys ---- */

	/* The span after or before the picked one in its lane. */
	function neighbour(way) {
		const p = page.picked;
		if (!p || !p.lane || p.sums) return;
		const w = Math.max(p.len * 4, (page.view.to - page.view.from) / 2);
		const list = (page.spans(p.lane.index, p.from - w, p.from + p.len + w) || []).filter((s) => !(p.lane.kind === K.CPU && (s.what >>> 24 & 3) === 1));
		const next = way > 0 ? list.find((s) => s.from > p.from) : list.filter((s) => s.from < p.from).pop();
		if (!next) return;
		page.pick({ row: p.row, strip: p.strip, lane: p.lane, ...next });
		if (next.from < page.view.from || next.from > page.view.to) { const half = (page.view.to - page.view.from) / 2; page.show(next.from - half, next.from + half); }
	}
	/* The span in the middle of the view, in the next row (1) or the previous one (-1): picking without a mouse. */
	function rowStep(way) {
		const list = page.shown.filter((r) => !r.heading && r.strips.length), t = page.picked ? page.picked.from + page.picked.len / 2 : centre();
		let i = page.picked ? list.indexOf(page.picked.row) + way : 0;
		for (; i >= 0 && i < list.length; i += way || 1) {
			const row = list[i], strip = row.strips.find((s) => s.kind === K.CPU || s.kind === K.TASK) || row.strips.find((s) => !page.counts(s.kind)) || row.strips[0];
			const spans = page.counts(strip.kind) ? null : page.spans(strip.lane.index, page.view.from, page.view.to);
			const away = (s) => Math.max(0, s.from - t, t - s.from - s.len);
			const best = (spans || []).reduce((a, s) => !a || away(s) < away(a) ? s : a, null);
			if (!best) continue;
			page.showRow(row);
			return page.pick({ row, strip, lane: strip.lane, ...best });
		}
	}
	const setMark = (name) => { page.mark[name] = page.picked ? page.picked.from : page.cursor !== undefined && page.cursor >= page.view.from && page.cursor <= page.view.to ? page.cursor : centre(); page.tellMarks(); page.redraw(); };
	const keys = [
		["w", "zoom in", () => zoom(0.5, centre())], ["s", "zoom out", () => zoom(2, centre())],
		["a", "move left", () => move(-0.25)], ["d", "move right", () => move(0.25)],
		["f", "to what is picked or selected; again: all", () => {
			const p = page.picked && page.picked.len ? { from: page.picked.from - page.picked.len * 0.1, to: page.picked.from + page.picked.len * 1.1 } : page.range;
			const there = p && Math.abs(page.view.from - Math.max(0, p.from)) < (p.to - p.from) * 0.01 + 1;
			if (p && !there) page.show(p.from, p.to); else page.show(0, page.meta.span);
		}],
		["m", "mark A here, then B; again: anew", () => { if (page.mark.A === null || page.mark.B !== null) { page.mark.B = null; setMark("A"); } else setMark("B"); }],
		["x", "select the range from A to B", () => { const { A, B } = page.mark; if (A !== null && B !== null) page.choose({ from: Math.min(A, B), to: Math.max(A, B) }); }],
		["ArrowDown", "pick in the next row", (e) => { e.preventDefault(); rowStep(1); }], ["ArrowUp", "pick in the previous row", (e) => { e.preventDefault(); rowStep(-1); }],
		["[", "the span before the picked one", () => neighbour(-1)], ["]", "the span after it", () => neighbour(1)],
		["/", "search", (e) => { e.preventDefault(); $("search").focus(); }], ["n", "the next one found", () => page.step(1)], ["p", "the previous one", () => page.step(-1)],
		["r", "show only some rows", (e) => { e.preventDefault(); $("rowfilter").focus(); }],
		[" ", "live: pause, and go on", (e) => { e.preventDefault(); page.live.toggle(); }],
		["e", "the list of events", () => page.open("list")], ["l", "the list of what was found", () => page.open("hits")],
		["Backspace", "back to the view before", (e) => { e.preventDefault(); back(); }],
		["Escape", "forget what is picked and selected", () => { page.pick(null); page.choose(null); }],
		["?", "this list", () => showKeys()],
	];
	const same = { "+": "w", "=": "w", "-": "s", ArrowLeft: "a", ArrowRight: "d" };
	document.addEventListener("keydown", (e) => {
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
			if (e.key === "Escape") { if (e.target.value && e.target.type === "search") { e.target.value = ""; e.target.dispatchEvent(new Event("input")); } e.target.blur(); }
			return;
		}
		if ($("keys").open && e.key === "Escape") return $("keys").close();
		if (e.ctrlKey || e.metaKey || $("keys").open && e.key !== "?") return;
		if (e.altKey) { if (e.key === "ArrowLeft") { e.preventDefault(); back(); } return; }
		const k = keys.find((x) => x[0] === (same[e.key] || e.key));
		if (k && !(e.target.tagName === "BUTTON" && (e.key === "Enter" || e.key === " "))) k[2](e);
	});
	const COLOURS = [["background:var(--run)", "a task runs (its own colour)"], ["background:var(--ready)", "it is ready and waits for a CPU"], ["background:var(--blocked)", "it is blocked"],
			["background:repeating-linear-gradient(135deg,var(--lost) 0 2px,transparent 2px 6px)", "events of this CPU were lost"],
			["background:radial-gradient(var(--not) 30%,transparent 32%) 0 0/6px 6px", "not recorded, or not known of the task"], ["", "idle"], ["background:linear-gradient(var(--run),var(--run)) 0/70% 100% no-repeat;clip-path:polygon(0 0,60% 0,75% 50%,60% 100%,0 100%)", "it goes on: its end is not in the trace"]];
	const swatch = (style) => make("span", { class: "key", style });
	const legend = () => make("div", { class: "legend" }, ...COLOURS.map(([style, text]) => make("span", {}, swatch(style), text)));
	const KEYS = { " ": "Space", ArrowDown: "\u2193", ArrowUp: "\u2191" };
	function showKeys() {
		const d = $("keys");
		if (d.open) return d.close();
		d.replaceChildren(make("table", {}, make("caption", {}, "Keys"), ...keys.map((k) => make("tr", {}, make("td", {}, make("kbd", {}, KEYS[k[0]] || k[0])), make("td", {}, k[1]))),
			...[["wheel", "scroll; with Ctrl: zoom, with Shift: move (zooms where all rows are in view)"], ["drag", "select a range; with Shift or the middle button: move"], ["two fingers", "zoom"], ["double click", "zoom to it"]]
				.map((k) => make("tr", {}, make("td", {}, k[0]), make("td", {}, k[1])))),
			make("table", {}, make("caption", {}, "Colours"), ...COLOURS.map(([s, t]) => make("tr", {}, make("td", {}, swatch(s)), make("td", {}, t)))),
			make("form", { method: "dialog" }, make("button", {}, "close")));
		d.showModal();
	}
	$("help").addEventListener("click", showKeys);

	/* ---- begin ---- */

	addEventListener("resize", () => page.redraw());
	addEventListener("hashchange", (e) => {
		if (!page.meta) return;
		const tab = restore(new URL(e.newURL).hash); /* what was to be saved may stand in the address by now */
		page.arrange();
		page.draw();
		page.tellMarks();
		page.open(tab && $(`tab-${tab}`) ? tab : "details");
		page.seek();
		pickAgain();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.rethemed());
	page.paper.addEventListener("change", () => page.rethemed());
	page.ready = page.load().then(async () => {
		$("title").textContent = $("title").title = page.plain(page.meta.title, 120);
		const tab = restore(location.hash);
		page.makeRows(page.fresh);
		const room = main.clientWidth;
		page.draw();
		if (main.clientWidth !== room) page.draw(); /* there is a scroll bar now */
		page.live.begin(location.hash.includes("view="));
		page.tellMarks();
		page.status("drag: select a range    click: pick    wheel with Ctrl, w and s: zoom    a and d: move    /: search    ?: all keys and colours");
		$("cause").replaceChildren(legend());
		document.body.dataset.ready = "drawn";
		await page.loadRest();
		if ($("search").value) page.seek();
		if (tab && $(`tab-${tab}`)) page.open(tab);
		pickAgain();
		document.body.dataset.ready = "true";
		page.readAt = performance.now();
	});
})();
