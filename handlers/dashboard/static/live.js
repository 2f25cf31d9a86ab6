// Keeps a page as fresh as the service can bear: one question at a time, soon again while the
// answers change, later while they do not, much later while they fail, never while nobody looks.
"use strict";

(() => {
  const SOON = 2000, IDLE = 10000, WORST = 60000;

  const seen = new Map();

  function replace(part) {
    const old = document.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
    if (!old || seen.get(part.dataset.part) === part.outerHTML) return;
    seen.set(part.dataset.part, part.outerHTML);
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && (focused.id ? `#${CSS.escape(focused.id)}` : ".scroll");
    const scrolled = old.querySelector(".scroll")?.scrollTop || 0;
    old.replaceWith(part);
    if (scrolled) part.querySelector(".scroll").scrollTop = scrolled;
    if (place) part.querySelector(place)?.focus({ preventScroll: true });
    localise(part);
  }

  function localise(root) {
    const words = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
    for (const time of root.querySelectorAll("time")) {
      time.title = time.textContent;
      time.textContent = words.format(new Date(time.dateTime));
    }
  }

  function parsed(html) {
    return new DOMParser().parseFromString(html, "text/html").body;
  }

  function live(address) {
    const url = new URL(address, location.href);
    url.searchParams.set("part", "live");
    return url;
  }

  // Asks for an address again and again; `take` gets each answer that is new.
  function follow(address, take, every = SOON) {
    const state = { tag: "", wait: every, timer: 0, asking: false };

    async function ask() {
      if (state.asking || document.hidden) return;
      state.asking = true;
      clearTimeout(state.timer);
      try {
        const answer = await fetch(address(), {
          headers: state.tag ? { "If-None-Match": state.tag } : {},
          signal: AbortSignal.timeout(15000),
        });
        if (answer.status === 304) {
          state.wait = Math.min(state.wait * 1.3, Math.max(IDLE, every));
        } else if (answer.ok) {
          state.tag = answer.headers.get("ETag") || "";
          state.wait = every;
          await take(answer);
        } else {
          const asked = 1000 * (Number(answer.headers.get("Retry-After")) || 0);
          state.wait = Math.min(WORST, Math.max(asked, state.wait * 2));
          throw new Error(`the service answers ${answer.status}`);
        }
        pulse("live");
      } catch (error) {
        if (!/answers/.test(error.message)) state.wait = Math.min(WORST, state.wait * 2);
        pulse(`not live: ${error.message}`);
      } finally {
        state.asking = false;
        state.timer = setTimeout(ask, state.wait * (0.9 + 0.2 * Math.random()));
      }
    }

    document.addEventListener("visibilitychange", ask);
    return { ask, soon() { state.tag = ""; state.wait = every; ask(); } };
  }

  function pulse(words) {
    const shown = document.getElementById("pulse");
    if (shown.textContent !== words) shown.textContent = words;
    shown.classList.toggle("on", words === "live");
  }

  function followPage(main) {
    for (const part of main.querySelectorAll("[data-part]")) {
      seen.set(part.dataset.part, part.outerHTML);
      localise(part);
    }
    const page = follow(() => live(main.dataset.live), async (answer) => {
      for (const part of parsed(await answer.text()).querySelectorAll("[data-part]")) replace(part);
    });
    document.addEventListener("acted", page.soon);
    setTimeout(page.ask, SOON);
  }

  async function load(into, address) {
    try {
      const answer = await fetch(live(address));
      if (!answer.ok) throw new Error(`the service answers ${answer.status}`);
      const found = parsed(await answer.text());
      localise(found);
      into.replaceChildren(...found.childNodes);
    } catch (error) {
      into.textContent = `Cannot be shown now: ${error.message}`;
    }
  }

  function followParts() {
    for (const into of document.querySelectorAll("[data-load]")) {
      const every = 1000 * Number(into.dataset.every || 0);
      if (!every) load(into, into.dataset.load);
      else follow(() => live(into.dataset.load), async (answer) => {
        const found = parsed(await answer.text());
        into.replaceChildren(...found.childNodes);
      }, every).ask();
    }
  }

  // Forms and links that name a place on the page have their answer shown there.
  function inPlace() {
    document.addEventListener("submit", (event) => {
      const into = document.getElementById(event.target.dataset.into || "");
      if (!into) return;
      event.preventDefault();
      const query = new URLSearchParams(new FormData(event.target));
      load(into, `${event.target.getAttribute("action")}?${query}`);
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[data-into]");
      const into = link && document.getElementById(link.dataset.into);
      if (!into || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      load(into, link.href).then(() => into.querySelector(".scroll")?.focus());
    });
  }

  window.injector = { follow };
  const main = document.querySelector("main[data-live]");
  if (main) followPage(main);
  followParts();
  inPlace();
})();
