/* range.js -- what happened in the selected range, in numbers: tasks, CPUs, spans, events, how long things took. */
(function () {
	const K = page.KIND, make = page.make, box = page.$("range");
	let asked = 0;

	/* Rows of cells; the first is text. A row may be chosen: `go` says where to. */
	page.table = (caption, heads, rows, go, max = 200) => {
		const body = make("tbody");
		rows.slice(0, max).forEach((r) => {
			const tr = make("tr", go ? { tabindex: 0 } : {}, ...r.cells.map((c, i) =>
				make("td", i === 0 || r.text && r.text.includes(i) ? { class: "text", title: typeof c === "string" ? c : null } : {}, c)));
			if (go) {
				tr.addEventListener("click", () => go(r));
				tr.addEventListener("keydown", (e) => { if (e.key === "Enter") go(r); });
			}
			body.append(tr);
		});
		if (rows.length > max) body.append(make("tr", {}, make("td", { class: "note" }, `and ${page.count(rows.length - max)} more`)));
		return make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", {}, h)))), body);
	};

	/* Time of each class of the lanes, by lane: from the server exactly, else from what is on the page. */
	async function sums(range) {
		const answer = await page.ask("sums", { from: range.from, to: range.to });
		if (answer && !answer.error) return { exact: true, by: new Map(answer.lanes.map((l) => [l[0], l.slice(1)])) };
		const by = new Map();
		let exact = true;
		for (const l of page.lanes) {
			if (![K.CPU, K.TASK, K.IRQ, K.LOST].includes(l.kind)) continue;
			const c = page.columns(l.index, range.from, range.to, 64), s = [0, 0, 0, 0];
			for (let i = 0; i < 64; i++) for (let k = 0; k < 4; k++) s[k] += c.share[i * 4 + k] * (range.to - range.from) / 64;
			exact = exact && c.fine;
			by.set(l.index, s);
		}
		return { exact, by };
	}

	function taskTable(got, range) {
		const rows = [], all = range.to - range.from;
		for (const l of page.lanes) {
			const s = l.kind === K.TASK && got.by.get(l.index);
			if (!s || !(s[0] + s[1] + s[2] + s[3])) continue;
			rows.push({ lane: l, s, cells: [page.task(l.id), page.amount(s[0]), page.percent(s[0] / all), page.amount(s[1]), page.amount(s[2]), s[3] ? page.amount(s[3]) : ""] });
		}
		rows.sort((a, b) => b.s[0] - a.s[0] || b.s[1] - a.s[1]);
		page.rangeTasks = rows.map((r) => ({ pid: page.meta.tasks[r.lane.id][0], cpu: r.s[0], ready: r.s[1], blocked: r.s[2] }));
		return rows.length ? page.table(`${rows.length} tasks`, ["task", "CPU", "", "ready", "blocked", "not known"], rows, (r) => page.showRow(r.lane.row)) : null;
	}

	function cpuTable(got, range) {
		const rows = [], all = range.to - range.from;
		for (const l of page.lanes) {
			const s = l.kind === K.CPU && got.by.get(l.index);
			if (!s) continue;
			let irq = 0, lost = 0, nr = 0;
			for (const o of page.lanes) {
				if (o.id !== l.id || !got.by.has(o.index)) continue;
				if (o.kind === K.IRQ && !o.depth) irq += got.by.get(o.index)[0];
				if (o.kind === K.LOST) { lost += got.by.get(o.index)[3]; nr += got.by.get(o.index)[0]; }
			}
			rows.push({ lane: l, cells: [`CPU ${l.id}`, page.amount(s[0]), page.percent(s[0] / all), page.amount(s[1]), page.amount(irq),
				lost ? `${page.amount(lost)}${nr >= 1 ? `, ${page.count(nr)} events` : ""}` : ""] });
		}
		return rows.length ? page.table("CPUs", ["", "busy", "", "idle", "interrupts", "lost"], rows, (r) => page.showRow(r.lane.row)) : null;
	}

	function histogram(kind) {
		const list = kind.histogram || [], most = Math.max(1, ...list.map((b) => b.count));
		return list.length ? page.table(`${kind.kind}: how long, how often`, ["from", "", ""], list.map((b) => ({
			cells: [page.amount(page.meta.ns ? b.from_ns : b.from_ticks), page.count(b.count), make("span", { class: "bar", style: `width:${Math.max(1, b.count / most * 120)}px` })],
		}))) : null;
	}

	const field = (o, name) => o[`${name}_ns`] !== undefined ? o[`${name}_ns`] : o[`${name}_ticks`];
	const instant = (o, name) => page.since(field(o, name));
	function more(answer) {
		const out = [];
		const functions = (answer.profile.functions || []).slice().sort((a, b) => field(b, "self") - field(a, "self"));
		if (functions.length) out.push(page.table("functions by self time", ["function", "self", "total", "calls"],
			functions.map((f) => ({ cells: [page.plain(f.name, 60), page.amount(field(f, "self")), page.amount(field(f, "total")), page.count(f.calls)] }))));
		const kinds = answer.latency.kinds || [];
		if (kinds.length) out.push(page.table("how long things took", ["kind", "count", "mean", "p50", "p99", "max"], kinds.filter((k) => k.count).map((k) => ({
			worst: (k.worst || [])[0],
			cells: [k.kind, page.count(k.count), page.amount(field(k, "mean")), page.amount(field(k, "p50")), page.amount(field(k, "p99")), page.amount(field(k, "max"))],
		})), (r) => r.worst && page.showWorst(r.worst, instant(r.worst, "from"), instant(r.worst, "to"))));
		const groups = kinds.filter((k) => k.kind !== "function").flatMap((k) => (k.groups || []).map((g) => ({ total: field(g, "total"),
			cells: [`${k.kind} ${page.plain(g.name, 40)}`, page.count(g.count), page.amount(field(g, "total")), page.amount(field(g, "max"))] })));
		groups.sort((a, b) => b.total - a.total);
		if (groups.length) out.push(page.table("spans by name", ["span", "count", "total", "longest"], groups));
		out.push(page.table("events", ["event", "count"], answer.events.map(([name, n]) => ({ cells: [page.plain(name, 60), page.count(n)] }))));
		out.push(...kinds.map(histogram).filter((t) => t));
		return out;
	}

	/* The worst of a kind, where it is. */
	page.showWorst = (worst, from, to) => {
		const row = worst.pid !== undefined && page.rows.find((r) => r.key === `t${worst.pid}`);
		page.show(from - (to - from) * 0.6, to + (to - from) * 0.6);
		if (row) page.showRow(row);
	};

	page.showRange = async () => {
		const range = page.range, mine = ++asked;
		if (!range) {
			box.replaceChildren(make("p", { class: "note" }, "Drag over the picture to select a range: its times per task and CPU, spans, events and how long things took."));
			return;
		}
		const got = await sums(range);
		if (mine !== asked) return;
		const tables = make("div", { class: "tables" });
		tables.append(...[taskTable(got, range), cpuTable(got, range)].filter((t) => t));
		box.replaceChildren(make("p", { class: "note" }, `${page.amount(range.to - range.from)} from ${page.stamp(range.from)} to ${page.stamp(range.to)}` +
			(got.exact ? "" : "; of dense parts, from sums: to a part of them")), tables);
		if (page.alone) {
			tables.append(make("p", { class: "note" }, "fathom view adds spans by self time, event counts and histograms."));
			return;
		}
		const wait = make("p", { class: "note" }, "reading the events of the range \u2026");
		box.append(wait);
		const answer = await page.ask("summary", { from: range.from, to: range.to });
		if (mine !== asked) return;
		wait.remove();
		if (answer.error) box.append(make("p", { class: "warn" }, answer.error));
		else tables.append(...more(answer));
		page.summary = answer;
	};
})();
