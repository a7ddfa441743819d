/* One event stream for all tabs of a browser, since HTTP/1.1 allows six connections to a host. The
   visible tab that leads reads the stream and tells the others where it is; a hidden tab lets go.
   A tab leads when for five seconds none has said that it does, and of two that do the lower number
   stays. (Web Locks would say it sooner, but exist only over https and on localhost.)

   Each tab knows the position that its page shows, at first the one the server wrote into it, and
   updates what differs. So it does not matter why it missed something: it was being loaded, hidden,
   kept for going back, cut off or asleep. Of one topic's updates at most one a second is made, and
   the last one always is. */
(function () {
  "use strict";
  var doc = document, body = doc.body, second = 1000, url = body.dataset.stream;
  if (!url || !window.BroadcastChannel) return;
  var channel = new BroadcastChannel(url), me = Math.random();
  /* topic -> digest; null: the page is as it should be, wherever the stream is */
  var shown = body.dataset.streamAt ? read(body.dataset.streamAt) : null;
  var resting = {}, late = {};
  /* source: of the tab that leads; sure: it has said where it is; brief: see tick */
  var source = null, sure = false, brief = false, down = false, out = false;
  /* When the source was opened, was heard, a leader was heard, said that it leads, and time was looked at. */
  var opened = 0, heard = 0, led = Date.now(), said = 0, ticked = led, again = 0;

  channel.onmessage = e => {
    var m = e.data;
    if (m.at) hear(m.at);
    if (m.down) line(true);
    if (m.out) leave();
    if (m.left) soon();
    if (source && (m.ask || m.leads > me)) leads();
    if (m.leads) led = Date.now();
    if (source && m.leads < me) close();
  };
  doc.addEventListener("visibilitychange", look);
  doc.addEventListener("DOMContentLoaded", look); /* htmx knows the page by then */
  addEventListener("pageshow", look);
  addEventListener("pagehide", letGo);
  addEventListener("online", reopen);
  setInterval(tick, second / 4);

  function read(position) {
    var at = {};
    position.split("-").forEach(part => {
      var dot = part.indexOf(".");
      if (dot > 0) at[part.slice(0, dot)] = part.slice(dot + 1);
    });
    return at;
  }
  function write() {
    return Object.keys(shown).map(topic => topic + "." + shown[topic]).join("-") || "unknown";
  }
  function say(what, detail) { doc.dispatchEvent(new CustomEvent("live:" + what, { detail: detail })); }
  function tellOthers(m) { channel.postMessage(m); }

  /* What this tab is told. */
  function hear(position) {
    var now = read(position);
    heard = Date.now();
    line(false);
    if (doc.hidden) return; /* it compares when it is seen again */
    if (!shown) shown = now;
    Object.keys(now).forEach(topic => {
      if (shown[topic] === now[topic]) return;
      shown[topic] = now[topic];
      update(topic);
    });
    say("heard");
  }
  function update(topic) {
    if (resting[topic]) { late[topic] = true; return; }
    resting[topic] = setTimeout(() => {
      var more = late[topic];
      late[topic] = resting[topic] = null;
      if (more) update(topic);
    }, second);
    say("told", topic);
  }
  function line(isDown) {
    if (down !== isDown) say(isDown ? "down" : "up");
    down = isDown;
  }
  function leave() {
    if (!out) say("out");
    out = true;
    letGo();
  }
  function leaveAll() {
    tellOthers({ out: true });
    leave();
  }

  /* What the leading tab reads. */
  function open() {
    close();
    opened = Date.now();
    sure = false;
    source = new EventSource(url + "?last=" + (shown ? write() : "") + (brief ? "&brief" : ""));
    source.onerror = fail;
    source.onmessage = e => {
      var at = e.lastEventId;
      if (e.data === "out") leaveAll();
      else if (at) {
        sure = true;
        tellOthers({ at: at });
        hear(at);
      }
    };
  }
  function fail() {
    opened = Date.now();
    if (!source || source.readyState !== 2) return; /* it reconnects by itself */
    fetch(url, { method: "HEAD", headers: { "HX-Request": "true" } }).then(answer => {
      if (answer.status === 401) leaveAll();
    }, () => {});
    again = setTimeout(reopen, 5 * second);
  }
  function reopen() { if (source) open(); }
  function leads() {
    said = Date.now();
    tellOthers({ leads: me, at: sure && !down && write() });
  }
  /* The server says something each 20 s. A line that is silent for longer is dead, whatever the browser
     thinks of it, as after a sleep. One on which not even the greeting comes is collected by a proxy until
     its end: then answers are asked for that end with their first message. */
  function tick() {
    var now = Date.now(), slept = now - ticked > 20 * second;
    ticked = now;
    if (doc.hidden || out) return;
    if (!source) {
      if (now - led < 5 * second) return;
      heard = now;
      open();
    }
    if (now - said > 2 * second) leads();
    if (slept) { heard = now; open(); }
    else if (!sure && !brief && source.readyState !== 2 && now - opened > 10 * second) { brief = true; open(); }
    if (now - heard < 30 * second) return;
    if (now - opened > 30 * second) open();
    if (!down) tellOthers({ down: true });
    line(true);
  }
  /* Whoever leads has half a second to say so. */
  function soon() { led = Date.now() - (4.2 + Math.random() / 2) * second; }
  function look() {
    if (doc.hidden) letGo();
    else if (!source) {
      tellOthers({ ask: true });
      soon();
    }
  }
  function close() {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  }
  function letGo() {
    if (source) tellOthers({ left: true });
    close();
  }
})();
