/* list.js -- events one by one: the list in step with the picture, the fields of one, marks and flags where they are few. */
(function () {
	const K = page.KIND, make = page.make, box = page.$("list"), MANY = 400, PAGE = 200;
	const MARKERS = ["print", "bprint", "bputs", "raw_data"], SAMPLES = ["kernel_stack", "user_stack"];
	page.listFilter = "";
	let shown = [], chosen = null, body, detail, note, asked = 0, endless = false;

	const inWindow = (from, to) => {
		const v = page.embedded.events;
		return v.filter((e) => e.t >= from && e.t <= to);
	};

	/* Events of a time: { events, more, error }. A page for itself has them all, or none. */
	page.events = async (from, to, more) => {
		if (!page.alone) return page.ask("events", { from: Math.max(0, Math.floor(from)), to: Math.ceil(to), ...more });
		if (!page.embedded) return { error: "This page has no list of events: there are too many. fathom view lists them." };
		if (more.filter) return { error: "Filters need fathom view; the search box finds names here." };
		let v = inWindow(from, to);
		for (const [kind, names] of [["markers", MARKERS], ["samples", SAMPLES]]) if (more[kind]) v = v.filter((e) => names.includes(e.event));
		v = v.slice(more.skip || 0);
		return { events: v.slice(0, more.max), more: v.length > more.max };
	};

	/* ---- marks and flags of the picture ---- */

	const near = { marks: null, markers: null, samples: null };
	const timers = {};
	const covers = (k) => near[k] && near[k].from <= page.view.from && near[k].to >= page.view.to && near[k].events;
	function load(kind) {
		const { from, to } = page.view, w = to - from, want = { from: Math.max(0, from - w / 2), to: to + w / 2 };
		if (near[kind] && near[kind].waiting) return;
		near[kind] = Object.assign({ waiting: true }, want);
		page.events(want.from, want.to, { [kind]: 1, max: kind === "markers" ? MANY : MANY * 4 }).then((a) => {
			near[kind] = a.error || a.more ? Object.assign({ none: true }, want) : Object.assign({ events: a.events }, want);
			page.redraw();
		});
	}
	/* How many there are of lanes in view, asked once a drawing; Infinity: not known yet. */
	const counted = {};
	function countIn(kind, lanes) {
		const is = counted[kind], { from, to } = page.view;
		if (is && is.turn === page.turn() && is.from === from && is.to === to && is.lanes === lanes[0]) return is.n;
		const n = lanes.reduce((sum, l) => sum + page.howMany(l.index, from, to), 0);
		counted[kind] = { turn: page.turn(), from, to, lanes: lanes[0], n };
		return n;
	}
	function few(kind, lanes, limit) {
		if (covers(kind)) return near[kind].events;
		if (near[kind] && near[kind].none && near[kind].from <= page.view.from && near[kind].to >= page.view.to &&
			near[kind].to - near[kind].from < 4 * (page.view.to - page.view.from)) return null;
		if (countIn(kind, lanes) > limit) return null;
		/* soon, however often they are asked for: a mouse that moves on does not put it off */
		timers[kind] = timers[kind] || setTimeout(() => { timers[kind] = 0; load(kind); }, page.alone ? 0 : 60);
		return null;
	}
	page.flags = (l) => few("markers", [l], 200);
	page.exactEvents = (l) => {
		const samples = l.kind === K.SAMPLES, all = few(samples ? "samples" : "marks", page.lanes.filter((o) => o.kind === K.SAMPLES || !samples && o.kind === K.MARKS), MANY);
		return all && all.filter((e) => e.cpu === l.id && !MARKERS.includes(e.event) && SAMPLES.includes(e.event) === samples);
	};
	page.eventAt = (l, t, slack) => {
		const list = l.kind === K.MARKERS ? page.flags(l) : page.exactEvents(l);
		let best = null;
		for (const e of list || []) if (Math.abs(e.t - t) <= slack && (!best || Math.abs(e.t - t) < Math.abs(best.t - t))) best = e;
		return best;
	};
	page.forgetEvents = () => { near.marks = near.markers = near.samples = null; };

	/* ---- the list ---- */

	/* The frames of a stack from where it was on, without the ends that only fill the record up. */
	const frames = (e) => SAMPLES.includes(e.event) ? e.text.replace(/(\s*=> 0x0)+$/, "").split("\n").map((f) => f.replace(/^\s*=> /, "")).filter(Boolean) : [e.text];
	const DEEP = 12;
	const tellText = (e) => {
		const f = frames(e);
		return f.slice(0, DEEP).map((name) => page.plain(name, 400)).join("\n  from ") + (f.length > DEEP ? `\n  and ${f.length - DEEP} more` : "");
	};
	page.tellEvent = (e) => `${page.plain(e.event)}: ${tellText(e)}\n${page.plain(e.comm, 64)}-${e.pid}, CPU ${e.cpu}, at ${page.stamp(e.t)} (+${page.amount(e.t)})` +
		(e.n !== undefined ? `, event ${page.count(e.n)}` : "") + (e.lost === null ? "\nevents were lost before it" : e.lost ? `\n${page.count(e.lost)} events were lost before it` : "");

	function choose(e, quiet) {
		chosen = e;
		for (const tr of body.children) tr.classList.toggle("at", tr.event === e);
		const rows = Object.entries(e.fields || {}).map(([k, v]) => ({ cells: [page.plain(k, 40), page.plain(Array.isArray(v) ? v.join(" ") : v, 400)], text: [1] }));
		detail.replaceChildren(make("pre", { class: "note" }, page.tellEvent(e)), page.table("fields", ["", ""], rows));
		page.cursor = e.t;
		if (quiet) return;
		page.status(page.tellEvent(e));
		if (e.t < page.view.from || e.t > page.view.to) page.show(e.t - (page.view.to - page.view.from) / 2, e.t + (page.view.to - page.view.from) / 2, true);
		page.mark.A = e.t;
		page.tellMarks();
		page.redraw();
	}

	function add(e) {
		const tr = make("tr", { tabindex: 0 }, make("td", {}, page.stamp(e.t)), make("td", {}, String(e.cpu)), make("td", { class: "text" }, `${page.plain(e.comm, 40)}-${e.pid}`),
			make("td", { class: "text" }, page.plain(e.event, 60)), make("td", { class: "wide" }, page.plain(frames(e).join(" <- "), 300)));
		tr.event = e;
		tr.addEventListener("click", () => choose(e));
		tr.addEventListener("keydown", (k) => {
			const next = k.key === "ArrowDown" ? tr.nextSibling : k.key === "ArrowUp" ? tr.previousSibling : null;
			if (k.key === "Enter") choose(e);
			if (!next) return;
			k.preventDefault();
			k.stopPropagation();
			next.focus();
			choose(next.event);
		});
		body.append(tr);
	}

	async function grow(fresh) {
		const mine = ++asked, last = shown[shown.length - 1];
		const from = fresh ? page.view.from : last.t, skip = fresh ? 0 : shown.filter((e) => e.t === last.t).length;
		const a = await page.events(from, page.view.to, Object.assign({ max: PAGE, skip }, page.listFilter ? { filter: page.listFilter } : {}));
		if (mine !== asked) return;
		if (fresh) { shown = []; body.replaceChildren(); }
		if (a.error) { note.textContent = a.error; note.className = "warn"; return; }
		shown.push(...a.events);
		a.events.forEach(add);
		endless = a.more;
		note.className = "note";
		note.textContent = `${page.count(shown.length)} events${a.more ? ", and more: scroll" : ""} of what is in view${page.listFilter ? ", filtered" : ""}`;
		page.listed = shown;
	}

	function build() {
		const input = make("input", { type: "search", placeholder: "filter, as fathom query takes: sched_switch && next_pid == 7", style: "width:min(420px,60vw)", "aria-label": "filter of the list", value: page.listFilter });
		const choose = () => { page.listFilter = input.value.trim(); page.save(); grow(true); };
		input.addEventListener("change", choose);
		body = make("tbody");
		detail = make("div");
		note = make("span", { class: "note", role: "status" });
		const scroll = make("div", {}, make("form", { onsubmit: (e) => { e.preventDefault(); choose(); } }, input, note),
			make("table", {}, make("thead", {}, make("tr", {}, ...["time", "CPU", "task", "event", ""].map((h) => make("th", { class: "text" }, h)))), body));
		scroll.addEventListener("scroll", () => { if (endless && scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 200) { endless = false; grow(false); } });
		box.replaceChildren(make("div", { id: "listbox" }, scroll, detail));
	}

	let later = null;
	page.showList = (now) => {
		if (page.tab !== "list") return;
		if (!body) build();
		clearTimeout(later);
		later = setTimeout(() => grow(true), now ? 0 : 150);
	};
	page.chooseEvent = (e) => { if (body) choose(e, true); };
})();
