/* search.js -- names and filters: how many, where over the whole span, a list, the next and the previous one. */
(function () {
	const K = page.KIND, $ = page.$, input = $("search");
	let pattern = null, asked = 0, text = "", isFilter = false;

	/* A filter has a comparison in it; all else is a name, or a regular expression of one. */
	const filterLike = (s) => /[=<>]|&&|\|\||\s~/.test(s);

	page.wanted = null;
	const cache = new Map();
	function matches(name) {
		if (!cache.has(name)) cache.set(name, pattern.test(name));
		return cache.get(name);
	}
	function compile(s) {
		cache.clear();
		try {
			pattern = new RegExp(s, "i");
		} catch (x) {
			return false;
		}
		page.wanted = (l, what) => matches(l.kind === K.TASK ? page.task(l.id) : page.nameOf(l, what));
		page.wantedEvent = (e) => matches(e.event) || matches(e.text);
		return true;
	}

	/* Of a page for itself: the spans that are on it. */
	function alone() {
		let count = 0, whole = true;
		const density = new Array(512).fill(0), hits = [], span = Math.max(1, page.meta.span);
		const hit = (t, more) => { count++; density[Math.min(511, Math.floor(t / span * 512))]++; hits.push({ t, ...more }); };
		for (const l of page.lanes) {
			if (l.kind === K.TASK || l.kind === K.WAKES || l.kind === K.LOST || page.counts(l.kind)) continue;
			const spans = page.spans(l.index, 0, span);
			if (!spans) { whole = false; continue; }
			for (const s of spans) if (!(l.kind === K.CPU && s.what >>> 24 & 3) && page.wanted(l, s.what)) hit(s.from, { lane: l.index, ...s });
		}
		for (const e of page.embedded ? page.embedded.events : []) if (page.wantedEvent(e)) hit(e.t, e);
		hits.sort((a, b) => a.t - b.t);
		return { count, density, whole: whole && !!page.embedded, hits };
	}

	/* The numbers of all names that match: what the server looks for. */
	function numbers(list, name) {
		const out = [];
		for (let i = 0; i < list.length; i++) if (name(i) && matches(name(i))) {
			const last = out[out.length - 1];
			if (last && last[1] === i - 1) last[1] = i; else out.push([i, i]);
		}
		return out.map(([a, b]) => a === b ? a : `${a}-${b}`).join(",");
	}
	const question = () => isFilter ? { filter: text } : { names: numbers(page.meta.names, page.name), tasks: numbers(page.meta.tasks, (i) => page.meta.tasks[i][0] ? page.task(i) : ""),
		types: Object.keys(page.meta.types).filter((t) => matches(page.type(t))).join(",") };

	let local = null;
	page.seek = async () => {
		const mine = ++asked, found = $("found");
		text = input.value.trim();
		isFilter = filterLike(text);
		page.wanted = page.wantedEvent = page.density = local = null;
		found.textContent = "";
		if (!text) return page.redraw();
		if (!isFilter && !compile(text)) {
			found.textContent = "not a regular expression";
			return page.redraw();
		}
		page.redraw();
		if (page.alone) {
			if (isFilter) { found.textContent = "filters need fathom view"; return; }
			local = alone();
			page.density = local.density;
			found.textContent = `${local.whole ? "" : "at least "}${page.count(local.count)} found`;
			page.showHits();
			return page.redraw();
		}
		found.textContent = "\u2026";
		const a = await page.ask("search", question());
		if (mine !== asked) return;
		found.textContent = a.error ? page.plain(a.error, 160) : `${page.count(a.count)} found`;
		page.density = a.density || null;
		page.found = a;
		page.showHits();
		page.redraw();
	};

	/* To the next (1) or the previous (-1) one from the middle of the view, or from the last one found. */
	page.step = async (way) => {
		if (!text) return;
		const at = page.cursor !== undefined && page.cursor >= page.view.from && page.cursor <= page.view.to ? page.cursor : way > 0 ? page.view.from : page.view.to;
		let hit = null;
		if (local) hit = way > 0 ? local.hits.find((h) => h.t > at) : local.hits.filter((h) => h.t < at).pop();
		else if (!page.alone) {
			const a = await page.ask("search", { ...question(), [way > 0 ? "after" : "before"]: Math.round(at) });
			if (a && !a.error && a.t !== undefined) hit = a;
		}
		if (!hit) { $("found").textContent = way > 0 ? "no later one" : "no earlier one"; return; }
		go(hit);
	};

	const laneOf = (hit) => hit.lane === undefined ? null : page.lanes[hit.lane] || null;
	function go(hit) {
		const half = (page.view.to - page.view.from) / 2, lane = laneOf(hit);
		page.cursor = hit.t;
		if (hit.t < page.view.from || hit.t > page.view.to) page.show(hit.t - half, hit.t + half);
		page.mark.A = hit.t;
		page.tellMarks();
		if (lane) page.showRow(lane.row);
		page.redraw();
	}

	/* ---- the list ---- */

	const PAGE = 200, box = $("hits");
	let listed = [], more = false;
	async function nextHits() {
		if (local) return { hits: local.hits.slice(listed.length, listed.length + PAGE), more: local.hits.length > listed.length + PAGE };
		const last = listed.length ? listed[listed.length - 1].t : 0;
		return page.ask("search", { ...question(), list: PAGE, from: last, skip: listed.filter((h) => h.t === last).length });
	}
	function cells(h) {
		const l = laneOf(h);
		return l ? [page.stamp(h.t), l.row.label, page.nameOf(l, h.what), page.amount(h.len)] : [page.stamp(h.t), `CPU ${h.cpu}`, `${page.plain(h.comm, 40)}-${h.pid}  ${page.plain(h.event, 60)}`, page.plain(h.text, 200)];
	}
	async function growHits() {
		const mine = asked, a = await nextHits();
		if (mine !== asked || page.tab !== "hits") return;
		if (!a || a.error) return box.replaceChildren(page.make("p", { class: "warn" }, a ? page.plain(a.error, 160) : ""));
		const at = box.scrollTop;
		listed.push(...a.hits);
		more = a.more;
		box.replaceChildren(page.table(`${page.count(listed.length)}${more ? ", and more: scroll" : ""}`, ["time", "where", "what", ""], listed.map((h) => ({ hit: h, text: [1, 2, 3], cells: cells(h) })), (r) => go(r.hit), Infinity));
		box.scrollTop = at;
		page.hits = listed;
	}
	page.showHits = () => {
		if (page.tab !== "hits") return;
		listed = [];
		page.hits = null;
		if (!text || !page.wanted && !isFilter) return box.replaceChildren(page.make("p", { class: "note" }, "What the search box finds is listed here, over the whole trace."));
		growHits();
	};
	box.addEventListener("scroll", () => { if (more && box.scrollTop + box.clientHeight > box.scrollHeight - 200) { more = false; growHits(); } });

	let later = null;
	input.addEventListener("input", () => { clearTimeout(later); later = setTimeout(page.seek, page.alone ? 0 : 250); });
	$("find").addEventListener("submit", (e) => { e.preventDefault(); page.step(1); });
	$("next").addEventListener("click", () => page.step(1));
	$("prev").addEventListener("click", () => page.step(-1));
})();
