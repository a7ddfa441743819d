/* Small comforts of the panel. Without this file every page still works: the controls it brings to
   life are hidden where scripts are off. */
(function () {
  "use strict";
  var doc = document;
  function all(selector, root) { return Array.prototype.slice.call((root || doc).querySelectorAll(selector)); }
  /* The clipboard exists only over https and on localhost; a site in a home network has neither. */
  function put(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    var area = doc.createElement("textarea");
    area.value = text;
    doc.body.append(area);
    area.select();
    var done = doc.execCommand("copy");
    area.remove();
    return done ? Promise.resolve() : Promise.reject();
  }
  function say(text) { var at = doc.getElementById("live-state"); if (at) at.textContent = text; }

  doc.addEventListener("click", e => {
    var copy = e.target.closest("[data-copy]"), shut = e.target.closest("[data-close]");
    if (shut) shut.closest("dialog").close();
    if (!copy) return;
    put(copy.dataset.copy).then(() => {
      copy.setAttribute("data-copied", "");
      say("Copied");
      setTimeout(() => { copy.removeAttribute("data-copied"); say(""); }, 1500);
    }, () => { say("The browser did not allow copying. Select the text instead."); });
  });

  /* Selecting rows: the head box selects the page; while anything is selected, live updates wait. */
  function picked(root) { return all(".pick:checked", root).filter(p => !p.dataset.pickAll).length; }
  doc.addEventListener("change", e => {
    var box = e.target, form = box.closest && box.closest("[data-picks]");
    if (!form || !box.matches(".pick")) return;
    if (box.dataset.pickAll) all(".pick", form).forEach(p => { p.checked = box.checked; });
    var n = picked(form), head = form.querySelector("[data-pick-all]");
    if (head) head.checked = n > 0 && n === all(".pick:not([data-pick-all])", form).length;
    if (!n) catchUp();
    all("[data-picked]", form).forEach(at => { at.textContent = n ? n + " selected. Live updates wait until nothing is selected." : ""; });
  });
  /* Parts of the page that are out of date. Each asks for itself as soon as nothing is in the way: selected rows,
     which must not move, or the fetch before. One that failed is tried again with the next word from the server. */
  var late = {}, failed = {};
  function waits(el) { return el.matches("[data-live]") && picked() > 0; }
  function catchUp() {
    Object.keys(late).forEach(id => {
      var el = doc.getElementById(id);
      if (el && (waits(el) || busy(el))) return;
      delete late[id];
      if (el) htmx.trigger(el, el.getAttribute("hx-trigger"));
    });
  }
  function busy(el) { return el.matches(".htmx-request, .htmx-added, .htmx-settling"); }
  doc.addEventListener("live:told", e => {
    all('[hx-trigger="live:' + e.detail + '"]').forEach(el => { late[el.id] = true; });
    catchUp();
  });
  doc.addEventListener("htmx:afterRequest", catchUp);
  doc.addEventListener("htmx:afterSettle", catchUp);
  doc.addEventListener("live:heard", () => {
    Object.keys(failed).forEach(id => { late[id] = true; });
    catchUp();
  });
  /* A fold that was opened stays open when what is around it is updated. */
  var open = {};
  function folds(root) { return all("details", root); }
  doc.addEventListener("htmx:beforeSwap", e => {
    var at = e.detail.target;
    if (at && at.matches("[data-live]")) open[at.id] = folds(at).filter(d => d.open).map(foldName);
  });
  doc.addEventListener("htmx:afterSwap", () => {
    Object.keys(open).forEach(id => {
      var at = doc.getElementById(id);
      if (at) folds(at).forEach(d => { if (open[id].indexOf(foldName(d)) >= 0) d.open = true; });
    });
    open = {};
  });
  /* Its words, and which of those with the same words it is counted from the end: newer ones come first. */
  function foldName(d) {
    var words = d.querySelector("summary").textContent, same = folds(d.closest("[data-live]")).filter(o => o.querySelector("summary").textContent === words);
    return words + (same.length - same.indexOf(d));
  }
  /* What could not be fetched is tried again with the next word from the server; until then the page says that it may be old. */
  var old = "What you see may be old.", signedOut = "You have been signed out. Reload the page to sign in.";
  function fails(e, text, forGood) {
    if (e.target.matches('[hx-trigger^="live:"]') && !forGood) failed[e.target.id] = true;
    say(text);
  }
  function unanswered(e) { fails(e, "The server did not answer. " + old); }
  doc.addEventListener("htmx:sendError", unanswered);
  doc.addEventListener("htmx:timeout", unanswered);
  doc.addEventListener("htmx:responseError", e => {
    var status = e.detail.xhr.status;
    fails(e, status === 401 ? signedOut : "This could not be updated. " + old, status < 500);
  });
  doc.addEventListener("htmx:afterOnLoad", e => {
    if (!e.detail.successful) return;
    delete failed[e.detail.elt.id];
    if (!Object.keys(failed).length) say("");
  });
  doc.addEventListener("live:down", () => { say("The server has been silent for half a minute. " + old); });
  doc.addEventListener("live:up", () => { say(""); });
  doc.addEventListener("live:out", () => { say(signedOut); });

  /* Single-key shortcuts (WCAG 2.1.4: they can be switched off). The keys are links in the help dialog. */
  var off = "shortcuts-off", help = doc.getElementById("shortcuts"), first = "";
  if (!help) return;
  var box = help.querySelector("[data-shortcuts]");
  box.checked = !localStorage.getItem(off) && !("keysOff" in help.dataset);
  box.addEventListener("change", () => { if (box.checked) localStorage.removeItem(off); else localStorage.setItem(off, "1"); });
  all("[data-open-shortcuts]").forEach(b => { b.addEventListener("click", () => { help.showModal(); }); });
  doc.addEventListener("keydown", e => {
    if (!box.checked || help.open || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
    var keys = first + e.key, search = doc.querySelector("input[type=search]");
    first = e.key === "g" ? "g " : "";
    if (e.key === "?") help.showModal();
    else if (e.key === "/" && search) { e.preventDefault(); search.focus(); }
    else { var link = help.querySelector('a[data-keys="' + CSS.escape(keys) + '"]'); if (link) location.assign(link.href); }
  });
})();
