// The buttons of jobs and operations: each asks first, and changes only the version of a job that
// is shown.
"use strict";

(() => {
  const dialog = document.getElementById("ask");
  const said = document.getElementById("said");
  let pressed = null;

  function ask(button) {
    const actions = button.closest(".actions");
    const fields = button.dataset.fields.split(" ");
    pressed = {
      id: button.id,
      method: button.dataset.method,
      address: actions.dataset.at + button.dataset.path,
      version: actions.dataset.version,
      body: JSON.parse(button.dataset.body),
      label: button.textContent.replace("…", ""),
    };
    dialog.querySelector("h2").textContent = `${pressed.label}: ${actions.dataset.name}?`;
    dialog.querySelector("#ask-text").textContent = button.dataset.asks;
    dialog.querySelector("form").reset();
    for (const label of dialog.querySelectorAll("[data-field]")) {
      label.hidden = !fields.includes(label.dataset.field);
      label.querySelector("input").disabled = label.hidden;
    }
    dialog.querySelector(".sure").classList.toggle("grave", button.classList.contains("grave"));
    dialog.returnValue = "back";
    dialog.showModal();
  }

  function answered() {
    const body = { ...pressed.body };
    for (const input of dialog.querySelectorAll("input:enabled")) {
      if (input.type === "checkbox") body[input.name] = input.checked;
      else if (input.value.trim()) body[input.name] = input.type === "number" ? input.valueAsNumber : input.value.trim();
    }
    return body;
  }

  async function act(asked, body) {
    say("Asking…");
    try {
      const answer = await fetch(asked.address, {
        method: asked.method,
        headers: {
          "Content-Type": "application/json",
          "Idempotency-Key": crypto.randomUUID(),
          ...(asked.version ? { "If-Match": `"${asked.version}"` } : {}),
        },
        ...(asked.method === "DELETE" ? {} : { body: JSON.stringify(body) }),
      });
      if (answer.status === 412) return say("Someone changed this job meanwhile; nothing was done. Look again.", true);
      if (!answer.ok) return say(`Not done: ${(await answer.json()).detail}`, true);
      if (asked.method === "DELETE") return location.assign("/");
      say(`Done: ${asked.label}.`);
    } catch (error) {
      say(`Not known whether it was done: ${error.message}`, true);
    } finally {
      document.dispatchEvent(new Event("acted"));
    }
  }

  function say(words, bad = false) {
    said.textContent = words;
    said.classList.toggle("bad", bad);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".actions button");
    if (button) ask(button);
  });
  document.getElementById("back").addEventListener("click", () => dialog.close("back"));
  dialog.addEventListener("close", () => {
    const { id } = pressed;
    if (dialog.returnValue === "yes") act(pressed, answered());
    (document.getElementById(id) || document.getElementById("main")).focus();
  });
})();
