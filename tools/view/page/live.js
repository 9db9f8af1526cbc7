/* live.js -- a target that is watched: what is new is asked for again and again, and the picture grows at its right edge. */
(function () {
	const $ = page.$, EVERY = 300, WIDTH = 5e9; /* ms; of the view at first, in units of time */
	const live = page.live = { on: false, paused: false, state: "on", cuts: 0 };
	let width = WIDTH, ours = false;

	/* Was this view chosen by a person? A zoom stays at the edge, a move leaves it. */
	page.watched = (from, to, before) => {
		if (!live.on || ours) return;
		if (Math.abs(to - from - (before.to - before.from)) > (to - from) * 1e-6) width = to - from;
		else if (to < page.meta.span) live.pause(true);
	};
	live.pause = (yes) => {
		live.paused = yes;
		$("pause").textContent = yes ? "go on" : "pause";
		$("pause").setAttribute("aria-pressed", yes);
		if (!yes) follow();
		page.about();
	};
	live.toggle = () => { if (live.on) live.pause(!live.paused); };
	live.words = () => live.state === "over" ? "the recording is over" : live.state === "away" ? "the target is away: waiting for it"
		: live.paused ? "paused; recording goes on" : "live";

	function follow() {
		ours = true;
		page.show(Math.max(0, page.meta.span - width), page.meta.span, true);
		ours = false;
	}

	function take(news) {
		const m = page.meta, since = m.span;
		for (const k of ["span", "events", "lost", "refused", "forgotten", "turn", "types"]) m[k] = news[k];
		for (const [pid, name, number] of news.tasks) m.tasks[number] = [pid, name];
		m.names.push(...news.names);
		for (const f of [page.task, page.name, page.type]) f.forget();
		const fresh = page.addLanes(news.lanes);
		for (const [i, nr, ...sum] of news.sums) {
			page.lanes[i].nr = nr;
			page.lanes[i].sum = sum;
			page.lanes[i].row.last = m.span;
		}
		live.state = news.state;
		live.cuts = news.cuts;
		page.stale(since);
		for (const r of page.rows) if (r.group === "task" && r.id < m.tasks.length) r.label = r.key[0] === "t" ? page.task(r.id) : r.label;
		page.makeRows(fresh);
		for (const l of fresh) l.row.last = m.span;
		if (live.paused) page.redraw(); else follow();
	}

	async function ask() {
		const news = await page.ask("news", { turn: page.meta.turn, names: page.meta.names.length, since: page.meta.span });
		if (!news.error) { page.lostServer = null; take(news); }
		else page.about();
		if (live.state !== "over" || news.error) setTimeout(ask, news.error ? 1000 : EVERY);
	}

	live.begin = (restored) => {
		live.on = !!page.meta.live;
		if (!live.on) return;
		$("pause").hidden = false;
		$("pause").addEventListener("click", live.toggle);
		live.pause(restored);
		setTimeout(ask, EVERY);
	};
})();
