/* why.js -- the chain behind a wait, as `fathom why` prints it: in a table, and as arrows in the picture. */
(function () {
	const K = page.KIND, make = page.make, box = page.$("cause"), SOON = 5e6; /* events: read at once, else on demand */
	const since = page.since;
	const at = (o, name) => since(o[`${name}_ns`] !== undefined ? o[`${name}_ns`] : o[`${name}_ticks`]);
	const time = (o, name) => o[`${name}_ns`] !== undefined ? o[`${name}_ns`] : o[`${name}_ticks`];
	const who = (t) => !t || t.pid === undefined || t.pid < 0 ? "nobody" : t.pid ? `${page.plain(t.comm, 40)}-${t.pid}` : "idle";
	const rowOf = (t) => t && page.rows.find((r) => r.key === `t${t.pid}`) || null;

	function words(l) {
		const of = who(l.of), by = who(l.by), name = l.name ? page.plain(l.name, 60) : "";
		switch (l.kind) {
		case "ran": return `${of} ran on CPU ${l.cpu}`;
		case "instead": return `${of} was ready: ${by} ran instead on CPU ${l.cpu}`;
		case "meanwhile": return `${by} ran on CPU ${l.cpu}; whether ${of} was ready is not recorded`;
		case "idle": return `${of} was ready, and CPU ${l.cpu} idle: the switch was on its way`;
		case "irq": case "softirq": return `${l.kind} ${name} on CPU ${l.cpu}`;
		case "irqsoff": return `${by} had interrupts off on CPU ${l.cpu}`;
		case "external": return `${of} was blocked until an interrupt${name ? `: ${name}` : ""}`;
		case "blocked": return `${of} was blocked${l.in ? ` in ${page.plain(l.in, 40)}` : ""} until ${by} woke it; meanwhile:`;
		case "unborn": return `${of} was not there until ${by} created it`;
		default: return `not known${name ? `: ${name}` : ""}`;
		}
	}

	function arrows(links) {
		const out = [];
		for (const l of links) {
			const of = rowOf(l.of), by = rowOf(l.by);
			if (!of || !by || of === by) continue;
			if (l.kind === "blocked" || l.kind === "unborn") out.push({ fromRow: by, toRow: of, from: at(l, "to"), to: at(l, "to"), colour: "--ready" });
			else if (l.kind === "instead") out.push({ fromRow: by, toRow: of, from: at(l, "from"), to: at(l, "to"), colour: "--ready" });
		}
		return out;
	}

	async function ask(hit, pid) {
		box.replaceChildren(make("p", { class: "note" }, "reading \u2026"));
		const a = await page.ask("why", { pid, from: Math.floor(hit.from), to: Math.ceil(hit.from + hit.len) });
		if (page.picked !== hit) return;
		page.why = a;
		if (!a || a.error) { box.replaceChildren(make("p", { class: "warn" }, a ? a.error : "")); return; }
		const rows = a.links.map((l) => ({ link: l, cells: [page.amount(time(l, "time")), make("span", { style: `padding-left:${Math.min(20, l.depth) * 16}px` }, words(l)), l.count > 1 ? `${page.count(l.count)} times` : ""], text: [1] }));
		box.replaceChildren(page.table(`Why ${page.amount(time(a, "delay"))}: the links add up to it`, ["", "", ""], rows, (r) => {
			const f = at(r.link, "from"), t = at(r.link, "to");
			page.show(f - (t - f) * 0.2, t + (t - f) * 0.2);
			page.showRow(rowOf(r.link.by) || rowOf(r.link.of));
		}));
		page.whyArrows = arrows(a.links);
		page.connect();
		page.redraw();
	}

	/* Of a task that waits. */
	page.explain = (hit) => {
		if (page.alone || !hit.lane || hit.lane.kind !== K.TASK || hit.sums || ![1, 2].includes(hit.what >>> 24 & 3)) return;
		const pid = page.meta.tasks[hit.lane.id][0];
		if (page.meta.events <= SOON) ask(hit, pid);
		else box.replaceChildren(make("button", { onclick: () => ask(hit, pid) }, `Why? (reads up to ${page.count(page.meta.events)} events)`));
	};
})();
