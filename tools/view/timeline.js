"use strict";
/* Draws the lanes in `data` (timeline.c says what the numbers are) at any zoom. Times are numbers from the trace's start. */
(function () {
	const data = JSON.parse(document.getElementById("data").textContent);
	const names = data.names, span = Math.max(1, data.span), start = BigInt(data.start);
	const lanes = document.getElementById("lanes"), overview = document.getElementById("overview");
	const tip = document.getElementById("tip"), details = document.getElementById("details");
	const search = document.getElementById("search"), main = document.getElementById("main");
	const LEFT = 120, RIGHT = 10, AXIS = 22, TASK = 20, IRQ = 8, CALL = 15, MARK = 10, GAP = 8, STEP = 4;
	let from = 0, to = span, pattern = null, hits = null, picked = null, width = 0;

	const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const idle = names.indexOf("idle");

	/* Rows of each lane, from the top; what is empty takes no room. */
	let height = AXIS;
	for (const l of data.lanes) {
		l.depth = 0;
		for (let i = 3; i < l.calls.length; i += STEP) l.depth = Math.max(l.depth, l.calls[i] + 1);
		l.rows = [];
		l.top = height;
		const row = (kind, list, h) => {
			if (!list.length) return;
			l.rows.push({ lane: l, kind, list, top: height, h });
			height += h;
		};
		row("irq", l.irqs, IRQ);
		row("task", l.tasks, TASK);
		row("call", sorted(l.calls), CALL * l.depth);
		row("mark", l.marks, MARK);
		if (l.rows.length) height += GAP;
	}

	/* Calls come in the order of their ends; drawing and searching want that of their beginnings. */
	function sorted(list) {
		const order = [];
		for (let i = 0; i < list.length; i += STEP) order.push(i);
		order.sort((a, b) => list[a] - list[b] || list[a + 3] - list[b + 3]);
		const out = new Float64Array(list.length);
		order.forEach((at, k) => { for (let j = 0; j < STEP; j++) out[k * STEP + j] = list[at + j]; });
		return out;
	}

	/* Hues that stay apart for colour-blind eyes; the name chooses, the lightness varies. */
	const hues = [205, 33, 150, 48, 265, 15, 190, 320];
	const colours = new Map();
	function colour(name, light) {
		const key = name * 4 + light;
		if (!colours.has(key)) {
			let h = 2166136261;
			for (const c of names[name].replace(/-\d+$/, "")) h = Math.imul(h ^ c.codePointAt(0), 16777619) >>> 0;
			const l = [66, 76, 50, 40][light] + (h >>> 16 & 7) - 3;
			colours.set(key, `hsl(${hues[h % hues.length]},${light === 2 ? 80 : 58}%,${l}%)`);
		}
		return colours.get(key);
	}

	const units = data.ns ? [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]] : [[1, "ticks"]];
	function amount(v) {
		for (const [size, name] of units)
			if (Math.abs(v) >= size) return `${(v / size).toLocaleString("en", { maximumFractionDigits: size > 1 ? 3 : 0 })} ${name}`;
		return `0 ${units[units.length - 1][1]}`;
	}
	/* The time as reports print it. */
	function stamp(t) {
		const at = start + BigInt(Math.round(t));
		if (!data.ns) return at.toString();
		return `${at / 1000000000n}.${(at % 1000000000n).toString().padStart(9, "0")}`;
	}

	const xOf = (t) => LEFT + (t - from) / (to - from) * (width - LEFT - RIGHT);
	const tOf = (x) => from + (x - LEFT) / (width - LEFT - RIGHT) * (to - from);

	/* The first item that may reach t; for rows without overlap exact, for calls by walking back over the open ones. */
	function first(row, t) {
		let lo = 0, hi = row.list.length / STEP;
		while (lo < hi) {
			const mid = lo + hi >> 1;
			if (row.list[mid * STEP] < t) lo = mid + 1; else hi = mid;
		}
		if (row.kind !== "call") return Math.max(0, lo - 1);
		if (!row.open) {
			/* For each item the earliest that is still open when it begins. */
			const n = row.list.length / STEP;
			row.open = new Int32Array(n);
			const stack = [];
			for (let i = 0; i < n; i++) {
				const d = row.list[i * STEP + 3];
				while (stack.length && row.list[stack[stack.length - 1] * STEP + 3] >= d) stack.pop();
				stack.push(i);
				row.open[i] = stack[0];
			}
		}
		return lo ? row.open[lo - 1] : 0;
	}

	const wanted = (name) => !hits || hits[name];

	function fit(canvas, h) {
		const scale = window.devicePixelRatio || 1, w = canvas.clientWidth || canvas.parentElement.clientWidth;
		canvas.style.height = h + "px";
		canvas.width = Math.round(w * scale);
		canvas.height = Math.round(h * scale);
		const g = canvas.getContext("2d");
		g.setTransform(scale, 0, 0, scale, 0, 0);
		g.font = "11px sans-serif";
		g.textBaseline = "middle";
		return [g, w];
	}

	function label(g, text, x, y, w) {
		if (w < 24) return;
		const most = Math.floor((w - 6) / 6.2);
		g.fillText(text.length > most ? text.slice(0, most - 1) + "\u2026" : text, x + 3, y);
	}

	function ticks() {
		const about = (to - from) / Math.max(2, (width - LEFT) / 130);
		const size = Math.pow(10, Math.floor(Math.log10(about)));
		const step = Math.max(1, [1, 2, 5, 10].map((k) => k * size).find((s) => s >= about));
		const out = [];
		for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
		return out;
	}

	function drawRow(g, row) {
		const list = row.list, y = row.top, ink = css("--ink");
		let drawn = -1e9;
		for (let i = first(row, from) * STEP; i < list.length && list[i] <= to; i += STEP) {
			const name = row.kind === "mark" ? list[i + 1] : list[i + 2];
			const x0 = Math.max(LEFT, xOf(list[i]));
			if (row.kind === "mark") {
				if (list[i] < from || (x0 - drawn < 0.7 && !hits)) continue;
				drawn = x0;
				g.globalAlpha = wanted(name) || wanted(list[i + 3]) ? 1 : 0.12;
				g.fillStyle = colour(name, 2);
				g.fillRect(x0 - 0.75, y + 1, 1.5, row.h - 2);
				continue;
			}
			const x1 = Math.min(width - RIGHT, xOf(list[i] + list[i + 1])), w = Math.max(0.6, x1 - x0);
			if (x1 < LEFT || (row.kind !== "call" && x1 - drawn < 0.4)) continue;
			drawn = x1;
			if (row.kind === "task" && name === idle) continue;
			const top = row.kind === "call" ? y + list[i + 3] * CALL : y, h = row.kind === "call" ? CALL : row.h;
			if (row.kind === "call" && x1 - x0 < 0.25 && list[i + 3] > 3) continue;
			g.globalAlpha = wanted(name) ? 1 : 0.15;
			g.fillStyle = row.kind === "irq" ? colour(name, 2) : colour(name, row.kind === "call" ? 1 : 0);
			g.fillRect(x0, top + 0.5, w > 2 ? w - 0.5 : w, h - 1);
			if (picked && picked.row === row && picked.at === i) {
				g.strokeStyle = css("--pick");
				g.lineWidth = 2;
				g.strokeRect(x0, top + 1, w, h - 2);
			}
			if (h > 10) {
				g.fillStyle = "#111";
				label(g, names[name], x0, top + h / 2 + 0.5, w);
			}
		}
		g.globalAlpha = 1;
		g.fillStyle = ink;
	}

	/* Hatched, so that it is not taken for a task: red where events were lost, grey where nothing was recorded. */
	function drawLost(g, l) {
		for (let i = 0; i < l.lost.length; i += STEP) {
			const x0 = Math.max(LEFT, xOf(l.lost[i])), x1 = Math.min(width - RIGHT, xOf(l.lost[i + 1]));
			if (x1 < LEFT || x0 > width) continue;
			const w = Math.max(1.5, x1 - x0), h = l.bottom - l.top, colour = l.lost[i + 3] ? "130,130,130" : "200,40,40";
			g.save();
			g.beginPath();
			g.rect(x0, l.top, w, h);
			g.clip();
			g.fillStyle = `rgba(${colour},0.15)`;
			g.fillRect(x0, l.top, w, h);
			g.strokeStyle = `rgba(${colour},0.8)`;
			g.lineWidth = 1;
			g.beginPath();
			for (let x = x0 - h; x < x0 + w; x += 6) {
				g.moveTo(x, l.top + h);
				g.lineTo(x + h, l.top);
			}
			g.stroke();
			g.restore();
		}
	}

	function draw() {
		let g;
		[g, width] = fit(lanes, Math.max(height, main.clientHeight - 2));
		const ink = css("--ink"), soft = css("--soft"), line = css("--line");
		data.lanes.forEach((l, k) => {
			const last = l.rows[l.rows.length - 1];
			if (!last) return;
			l.bottom = last.top + last.h;
			g.fillStyle = css("--lane");
			g.fillRect(0, l.top - 2, width, l.bottom - l.top + 4);
		});
		for (const t of ticks()) {
			const x = Math.round(xOf(t)) + 0.5;
			g.strokeStyle = line;
			g.beginPath();
			g.moveTo(x, AXIS - 4);
			g.lineTo(x, height);
			g.stroke();
			g.fillStyle = soft;
			g.fillText((t ? "+" : "") + amount(t), x + 3, AXIS / 2);
		}
		for (const l of data.lanes) {
			if (!l.rows.length) continue;
			for (const row of l.rows) drawRow(g, row);
			drawLost(g, l);
			g.fillStyle = css("--lane");
			g.fillRect(0, l.top - 2, LEFT - 1, l.bottom - l.top + 4);
			g.fillStyle = ink;
			const name = l.rows.find((r) => r.kind === "task") || l.rows[0];
			g.fillText(l.label.length > 17 ? l.label.slice(0, 16) + "\u2026" : l.label, 8,
				   name.kind === "call" ? name.top + CALL / 2 : name.top + name.h / 2);
		}
		drawOverview();
		document.getElementById("about").textContent = `${data.events.toLocaleString("en")} events, ${amount(span)}; shown: ` +
			`${stamp(from)} to ${stamp(to)} (${amount(to - from)})` +
			(data.left ? `; ${data.left.toLocaleString("en")} later events were skipped` : "") +
			(data.lost ? `; lost: ${data.lost}` : "");
	}

	/* How busy all CPUs were, over the whole trace, and which part of it is shown. */
	let busy = null;
	function drawOverview() {
		const [g, w] = fit(overview, 44), n = Math.max(50, Math.floor(w - LEFT - RIGHT));
		if (!busy || busy.length !== n) {
			busy = new Float64Array(n);
			let cpus = 0;
			for (const l of data.lanes) {
				if (!l.cpu) continue;
				cpus++;
				for (let i = 0; i < l.tasks.length; i += STEP) {
					if (l.tasks[i + 2] === idle) continue;
					let a = l.tasks[i] / span * n, b = (l.tasks[i] + l.tasks[i + 1]) / span * n;
					for (let k = Math.floor(a); k < Math.min(n, Math.ceil(b)); k++)
						busy[k] += Math.max(0, Math.min(b, k + 1) - Math.max(a, k));
				}
			}
			for (let k = 0; k < n; k++) busy[k] = Math.min(1, busy[k] / Math.max(1, cpus));
		}
		g.fillStyle = "hsl(205,58%,66%)";
		for (let k = 0; k < n; k++) g.fillRect(LEFT + k, 40 - 36 * busy[k], 1, 36 * busy[k]);
		g.fillStyle = css("--soft");
		g.fillText("busy", 8, 22);
		const x0 = LEFT + from / span * n, x1 = LEFT + to / span * n;
		g.fillStyle = "rgba(120,130,150,0.3)";
		g.fillRect(LEFT, 2, x0 - LEFT, 40);
		g.fillRect(x1, 2, LEFT + n - x1, 40);
		g.strokeStyle = css("--ink");
		g.strokeRect(x0, 2.5, Math.max(2, x1 - x0), 39);
	}

	function show(a, b) {
		const least = data.ns ? 20 : 4;
		let w = Math.min(span, Math.max(least, b - a));
		a = Math.max(0, Math.min(span - w, a));
		from = a;
		to = a + w;
		draw();
	}
	const zoom = (factor, t) => show(t - (t - from) * factor, t + (to - t) * factor);

	/* What is at a place of the canvas. */
	function find(x, y) {
		const t = tOf(x), near = 3 * (to - from) / (width - LEFT - RIGHT);
		for (const l of data.lanes) {
			if (!l.rows.length || y < l.top || y >= l.bottom || x < LEFT) continue;
			for (let i = 0; i < l.lost.length; i += STEP)
				if (l.lost[i] <= t && t <= Math.max(l.lost[i + 1], l.lost[i] + near / 2))
					return { row: { kind: "lost", lane: l, list: l.lost }, at: i };
		}
		for (const l of data.lanes) for (const row of l.rows) {
			if (y < row.top || y >= row.top + row.h || x < LEFT) continue;
			let best = null;
			for (let i = first(row, t - near) * STEP; i < row.list.length && row.list[i] <= t + near; i += STEP) {
				if (row.kind === "mark") {
					if (Math.abs(row.list[i] - t) <= near && (!best || Math.abs(row.list[i] - t) < Math.abs(row.list[best.at] - t)))
						best = { row, at: i };
				} else if (row.kind === "call" ? row.top + row.list[i + 3] * CALL <= y && y < row.top + (row.list[i + 3] + 1) * CALL
					&& row.list[i] - near / 3 <= t && t <= row.list[i] + row.list[i + 1] + near / 3
					: row.list[i] - near / 3 <= t && t <= row.list[i] + row.list[i + 1] + near / 3) {
					best = { row, at: i };
				}
			}
			return best;
		}
		return null;
	}

	function tell(hit) {
		const v = hit.row.list, i = hit.at, where = hit.row.lane.label;
		if (hit.row.kind === "lost")
			return (v[i + 3] ? "not recorded" : v[i + 2] ? `${v[i + 2].toLocaleString("en")} events lost` : "events lost, not known how many") +
				`  ${amount(v[i + 1] - v[i])}\n${where}, ${stamp(v[i])} to ${stamp(v[i + 1])}`;
		if (hit.row.kind === "mark")
			return `${names[v[i + 1]]}: ${names[v[i + 3]]}\n${where}, ${names[v[i + 2]]}, at ${stamp(v[i])}`;
		let text = `${names[v[i + 2]]}  ${amount(v[i + 1])}\n${where}, ${stamp(v[i])} to ${stamp(v[i] + v[i + 1])}`;
		if (hit.row.kind === "task" && v[i + 3]) text += `\nwaited ${amount(v[i + 3])} to run`;
		return text;
	}

	lanes.addEventListener("wheel", (e) => {
		if (e.ctrlKey || e.metaKey || !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX)) {
			e.preventDefault();
			zoom(e.deltaY > 0 ? 1.25 : 0.8, tOf(e.offsetX));
		} else {
			e.preventDefault();
			const d = (e.deltaX || e.deltaY) / (width - LEFT) * (to - from);
			show(from + d, to + d);
		}
	}, { passive: false });

	let drag = null;
	lanes.addEventListener("mousedown", (e) => { drag = { x: e.clientX, from, to, moved: false }; lanes.classList.add("drag"); });
	window.addEventListener("mousemove", (e) => {
		if (!drag) return;
		const d = (drag.x - e.clientX) / (width - LEFT - RIGHT) * (drag.to - drag.from);
		if (Math.abs(drag.x - e.clientX) > 3) drag.moved = true;
		if (drag.moved) show(drag.from + d, drag.to + d);
	});
	window.addEventListener("mouseup", (e) => {
		const was = drag;
		drag = null;
		lanes.classList.remove("drag");
		if (!was || was.moved || e.target !== lanes) return;
		picked = find(e.offsetX, e.offsetY);
		details.textContent = picked ? tell(picked) : "";
		draw();
	});
	lanes.addEventListener("mousemove", (e) => {
		const hit = drag && drag.moved ? null : find(e.offsetX, e.offsetY);
		tip.style.display = hit ? "block" : "none";
		if (!hit) return;
		tip.textContent = tell(hit);
		tip.style.left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 6) + "px";
		tip.style.top = Math.min(e.clientY + 14, window.innerHeight - tip.offsetHeight - 6) + "px";
	});
	lanes.addEventListener("mouseleave", () => { tip.style.display = "none"; });
	lanes.addEventListener("dblclick", (e) => {
		const hit = find(e.offsetX, e.offsetY);
		if (!hit || hit.row.kind === "mark" || hit.row.kind === "lost") return zoom(0.25, tOf(e.offsetX));
		const a = hit.row.list[hit.at], w = Math.max(20, hit.row.list[hit.at + 1]);
		show(a - w * 0.1, a + w * 1.1);
	});

	let move = false;
	function centre(e) {
		const t = (e.offsetX - LEFT) / (overview.clientWidth - LEFT - RIGHT) * span, half = (to - from) / 2;
		show(t - half, t + half);
	}
	overview.addEventListener("mousedown", (e) => { move = true; centre(e); });
	overview.addEventListener("mousemove", (e) => { if (move) centre(e); });
	window.addEventListener("mouseup", () => { move = false; });

	function seek() {
		hits = null;
		document.getElementById("found").textContent = "";
		if (search.value) {
			try {
				pattern = new RegExp(search.value, "i");
			} catch (x) {
				document.getElementById("found").textContent = "not a regular expression";
				return draw();
			}
			hits = names.map((n) => pattern.test(n));
			let count = 0;
			for (const l of data.lanes) for (const row of l.rows)
				for (let i = 0; i < row.list.length; i += STEP)
					count += row.kind === "mark" ? (hits[row.list[i + 1]] || hits[row.list[i + 3]] ? 1 : 0) : hits[row.list[i + 2]] ? 1 : 0;
			document.getElementById("found").textContent = `${count.toLocaleString("en")} found`;
		}
		draw();
	}
	search.addEventListener("input", seek);

	/* The next or the previous item like the picked one. */
	function step(way) {
		if (!picked || picked.row.kind === "lost") return;
		const list = picked.row.list, nameAt = picked.row.kind === "mark" ? 1 : 2;
		for (let i = picked.at + way * STEP; i >= 0 && i < list.length; i += way * STEP) {
			if (list[i + nameAt] !== list[picked.at + nameAt]) continue;
			picked = { row: picked.row, at: i };
			details.textContent = tell(picked);
			const half = (to - from) / 2;
			return list[i] < from || list[i] > to ? show(list[i] - half, list[i] + half) : draw();
		}
	}

	document.addEventListener("keydown", (e) => {
		if (e.target === search) {
			if (e.key === "Escape") { search.value = ""; seek(); search.blur(); }
			return;
		}
		const w = to - from;
		const keys = {
			"/": () => { e.preventDefault(); search.focus(); },
			"+": () => zoom(0.5, (from + to) / 2), "=": () => zoom(0.5, (from + to) / 2), "w": () => zoom(0.5, (from + to) / 2),
			"-": () => zoom(2, (from + to) / 2), "s": () => zoom(2, (from + to) / 2),
			"ArrowLeft": () => show(from - w / 4, to - w / 4), "a": () => show(from - w / 4, to - w / 4),
			"ArrowRight": () => show(from + w / 4, to + w / 4), "d": () => show(from + w / 4, to + w / 4),
			"n": () => step(1), "p": () => step(-1),
			"Escape": () => { picked = null; details.textContent = ""; show(0, span); },
			"f": () => show(0, span),
		};
		if (keys[e.key] && !e.ctrlKey && !e.metaKey) keys[e.key]();
	});
	window.addEventListener("resize", draw);
	details.textContent = "wheel: zoom    drag: move    click: details, then n and p: the next and the previous one like it    " +
		"double click: zoom to it    f: all    /: search\n" +
		"a CPU: interrupts above, the tasks that ran, other events below";
	window.timeline = { show, get from() { return from; }, get to() { return to; }, find, tell, span };
	draw();
	draw(); /* once more, now that the scroll bar is there or not */
})();
