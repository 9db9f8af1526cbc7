/* stacks.js -- the flame graph of the selected range, with the callers and callees of the frame that is chosen. */
(function () {
	const K = page.KIND, make = page.make, box = page.$("stacks"), H = 17;
	let tree = null, root = null, canvas, side, places = [], asked = 0;

	/* [name, self, total, [children]] as the server sends it; here: objects with parents. */
	function link(v, parent) {
		const n = { name: v[0], self: v[1], total: v[2], parent, children: [] };
		n.children = v[3].map((c) => link(c, n)).sort((a, b) => b.total - a.total);
		return n;
	}

	/* Of a page for itself: from the calls that are on it. */
	function alone(from, to) {
		const all = { name: "all", self: 0, total: 0, parent: null, children: [] };
		const child = (n, name) => {
			let c = n.children.find((x) => x.name === name);
			if (!c) n.children.push(c = { name, self: 0, total: 0, parent: n, children: [] });
			return c;
		};
		for (const row of page.rows) {
			const lanes = row.lanes[K.CALLS];
			if (!lanes) continue;
			let above = [{ from: -Infinity, to: Infinity, node: child(all, row.label) }];
			for (const l of lanes) {
				const spans = l && page.spans(l.index, from, to);
				if (!spans) return null;
				let k = 0;
				const here = [];
				for (const s of spans) {
					while (k + 1 < above.length && above[k + 1].from <= s.from) k++;
					const t = Math.min(to, s.from + s.len) - Math.max(from, s.from), node = child(above[k].node, page.name(s.what & page.WHAT));
					node.self += t;
					if (above[k].node.parent) above[k].node.self -= above[k].from === -Infinity ? 0 : t;
					here.push({ from: s.from, node });
				}
				if (!here.length) break;
				above = here;
			}
		}
		const sum = (n) => { n.total = Math.max(0, n.self) + n.children.reduce((t, c) => t + sum(c), 0); n.children.sort((a, b) => b.total - a.total); return n.total; };
		sum(all);
		return all.total ? all : null;
	}

	function paint() {
		const w = canvas.clientWidth || 600, deep = (n) => 1 + Math.max(0, ...n.children.filter((c) => c.total / root.total * w >= 0.3).map(deep));
		const chain = [];
		for (let n = root.parent; n; n = n.parent) chain.unshift(n);
		const rows = chain.length + deep(root), g = page.fit(canvas, w, rows * H + 4), ink = page.css("--ink");
		places = [];
		const frame = (n, x, width, y, dim) => {
			g.globalAlpha = dim ? 0.5 : 1;
			g.fillStyle = n.parent ? page.colour(n.name) : page.css("--line");
			g.fillRect(x, y * H + 1, Math.max(0.4, width - 0.6), H - 1.5);
			g.globalAlpha = 1;
			places.push({ n, x, width, y });
			const text = page.plain(n.name, 80), most = Math.floor((width - 6) / 6.3);
			if (most > 2) { g.fillStyle = n.parent ? "#111" : ink; g.fillText(text.length > most ? text.slice(0, most - 1) + "\u2026" : text, x + 3, y * H + H / 2 + 1); }
		};
		chain.forEach((n, y) => frame(n, 0, w, y, true));
		const walk = (n, x, width, y) => {
			if (width < 0.3) return;
			frame(n, x, width, y, false);
			let at = x;
			for (const c of n.children) { const cw = width * c.total / n.total; walk(c, at, cw, y + 1); at += cw; }
		};
		walk(root, 0, w, chain.length);
	}

	const share = (v) => `${tree.unit === "samples" ? page.count(v) : page.amount(v)} (${page.percent(v / tree.top.total)})`;
	/* Who calls the function, and whom it calls, wherever it is. */
	function sandwich(name) {
		const callers = new Map(), callees = new Map();
		let self = 0, total = 0;
		const add = (m, k, v) => m.set(k, (m.get(k) || 0) + v);
		const walk = (n, inside) => {
			const is = n.name === name;
			if (is) {
				self += n.self;
				if (!inside) total += n.total;
				if (n.parent) add(callers, n.parent.name, n.total);
				n.children.forEach((c) => add(callees, c.name, c.total));
			}
			n.children.forEach((c) => walk(c, inside || is));
		};
		walk(tree.top, false);
		const table = (caption, m) => !m.size ? make("p", { class: "note" }, `no ${caption}`) : page.table(caption, ["", ""], [...m].sort((a, b) => b[1] - a[1]).map(([k, v]) => ({ name: k, cells: [page.plain(k, 60), share(v)] })), (r) => sandwich(r.name), 30);
		side.replaceChildren(make("p", { class: "note" }, `${page.plain(name, 80)}: self ${share(self)}, total ${share(total)}`),
			make("div", { class: "tables" }, table("callers", callers), table("callees", callees)));
		page.sandwich = { name, self, total, callers, callees };
	}

	function flat() {
		const by = new Map();
		const walk = (n) => { if (n.parent) by.set(n.name, (by.get(n.name) || 0) + n.self); n.children.forEach(walk); };
		walk(tree.top);
		return [...by].sort((a, b) => b[1] - a[1]);
	}

	page.showStacks = async () => {
		if (page.tab !== "stacks") return;
		const range = page.range || page.view, mine = ++asked;
		box.replaceChildren(make("p", { class: "note" }, "\u2026"));
		const a = page.alone ? null : await page.ask("flame", { from: Math.floor(range.from), to: Math.ceil(range.to) });
		if (mine !== asked) return; /* another range was chosen meanwhile */
		const top = a && !a.error ? link(a.tree, null) : page.alone ? alone(range.from, range.to) : null;
		page.flameTree = top;
		if (!top || !top.total) {
			box.replaceChildren(make("p", { class: "note" }, a && a.error ? a.error : page.alone ? "No calls here that this page has one by one: zoom in, or use fathom view." : "There are no stacks in this range."));
			return;
		}
		tree = { top, unit: a ? a.unit : "ns" };
		root = top;
		canvas = make("canvas", { id: "flame", role: "img", "aria-label": "flame graph; the tables below have the same numbers" });
		side = make("div");
		box.replaceChildren(make("p", { class: "note" }, `${tree.unit === "samples" ? page.count(top.total) + " samples" : page.amount(top.total)} in ${page.amount(range.to - range.from)} from ${page.stamp(range.from)}${page.range ? "" : " (what is in view; select a range for less)"}. Click a frame to zoom and for its callers and callees.`),
			canvas, side);
		paint();
		side.replaceChildren(page.table(tree.unit === "samples" ? "samples in it" : "self time", ["", ""], flat().map(([k, v]) => ({ name: k, cells: [page.plain(k, 60), share(v)] })), (r) => sandwich(r.name), 30));
		const at = (e) => places.find((p) => e.offsetX >= p.x && e.offsetX < p.x + p.width && Math.floor(e.offsetY / H) === p.y);
		canvas.addEventListener("click", (e) => { const p = at(e); if (p) { root = p.n; paint(); sandwich(p.n.name); } });
		canvas.addEventListener("mousemove", (e) => { const p = at(e); page.tip(p ? `${page.plain(p.n.name)}\ntotal ${share(p.n.total)}, self ${share(p.n.self)}` : "", e); });
		canvas.addEventListener("mouseleave", () => page.tip(""));
	};
})();
