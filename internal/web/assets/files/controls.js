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

  doc.addEventListener("click", function (e) {
    var copy = e.target.closest("[data-copy]"), shut = e.target.closest("[data-close]");
    if (shut) shut.closest("dialog").close();
    if (!copy) return;
    put(copy.dataset.copy).then(function () {
      copy.setAttribute("data-copied", "");
      say("Copied");
      setTimeout(function () { copy.removeAttribute("data-copied"); say(""); }, 1500);
    }, function () { say("The browser did not allow copying. Select the text instead."); });
  });

  /* Selecting rows: the head box selects the page; while anything is selected, live updates wait. */
  function picked(root) { return all(".pick:checked", root).filter(function (p) { return !p.dataset.pickAll; }).length; }
  doc.addEventListener("change", function (e) {
    var box = e.target, form = box.closest && box.closest("[data-picks]");
    if (!form || !box.matches(".pick")) return;
    if (box.dataset.pickAll) all(".pick", form).forEach(function (p) { p.checked = box.checked; });
    var n = picked(form), head = form.querySelector("[data-pick-all]");
    if (head) head.checked = n > 0 && n === all(".pick:not([data-pick-all])", form).length;
    if (!n) all("[data-late]", form).forEach(function (el) {
      el.removeAttribute("data-late");
      htmx.trigger(el, el.getAttribute("hx-trigger"));
    });
    all("[data-picked]", form).forEach(function (at) { at.textContent = n ? n + " selected. Live updates wait until nothing is selected." : ""; });
  });
  doc.addEventListener("htmx:beforeRequest", function (e) {
    if (!e.target.matches("[data-live]") || !picked(e.target.closest("[data-picks]") || e.target)) return;
    e.preventDefault();
    e.target.setAttribute("data-late", "");
  });
  /* A fold that was opened stays open when what is around it is updated. */
  var open = {};
  function folds(root) { return all("details", root); }
  doc.addEventListener("htmx:beforeSwap", function (e) {
    var at = e.detail.target;
    if (at && at.matches("[data-live]")) open[at.id] = folds(at).filter(function (d) { return d.open; }).map(foldName);
  });
  doc.addEventListener("htmx:afterSwap", function () {
    Object.keys(open).forEach(function (id) {
      var at = doc.getElementById(id);
      if (at) folds(at).forEach(function (d) { if (open[id].indexOf(foldName(d)) >= 0) d.open = true; });
    });
    open = {};
  });
  /* Its words, and which of those with the same words it is counted from the end: newer ones come first. */
  function foldName(d) {
    var words = d.querySelector("summary").textContent, same = folds(d.closest("[data-live]")).filter(function (o) { return o.querySelector("summary").textContent === words; });
    return words + (same.length - same.indexOf(d));
  }
  doc.addEventListener("htmx:sendError", function () { say("The server did not answer. What you see may be old."); });
  doc.addEventListener("htmx:responseError", function (e) {
    say(e.detail.xhr.status === 401 ? "You have been signed out. Reload the page to sign in." : "This could not be updated. What you see may be old.");
  });
  doc.addEventListener("htmx:afterOnLoad", function (e) { if (e.detail.successful) say(""); });

  /* Single-key shortcuts (WCAG 2.1.4: they can be switched off). The keys are links in the help dialog. */
  var off = "shortcuts-off", help = doc.getElementById("shortcuts"), first = "";
  if (!help) return;
  var box = help.querySelector("[data-shortcuts]");
  box.checked = !localStorage.getItem(off) && !("keysOff" in help.dataset);
  box.addEventListener("change", function () { if (box.checked) localStorage.removeItem(off); else localStorage.setItem(off, "1"); });
  all("[data-open-shortcuts]").forEach(function (b) { b.addEventListener("click", function () { help.showModal(); }); });
  doc.addEventListener("keydown", function (e) {
    if (!box.checked || help.open || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
    var keys = first + e.key, search = doc.querySelector("input[type=search]");
    first = e.key === "g" ? "g " : "";
    if (e.key === "?") help.showModal();
    else if (e.key === "/" && search) { e.preventDefault(); search.focus(); }
    else { var link = help.querySelector('a[data-keys="' + CSS.escape(keys) + '"]'); if (link) location.assign(link.href); }
  });
})();
