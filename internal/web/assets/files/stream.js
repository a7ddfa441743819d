/* One event stream for all tabs of a browser, since HTTP/1.1 allows six connections to a host. The
   visible tab that holds the lock reads the stream and passes each message on; a hidden tab lets go.
   Whoever takes over names the last message it saw, so that the server can send what came between.
   Locks exist only over https and on localhost; elsewhere each tab reads a stream of its own.
   Of one event's messages at most one a second is handed on, and the last one always is. */
(function () {
  "use strict";
  if (!window.BroadcastChannel) return;

  htmx.createEventSource = function (url) {
    var channel = navigator.locks ? new BroadcastChannel("live " + url) : { postMessage: Function.prototype, close: Function.prototype };
    /* heard: event name -> listeners of this tab; wanted: the names that any tab listens to */
    var heard = {};
    var wanted = {};
    var resting = {}, late = {};
    var source = null, release = null, waiting = null, last = "";
    var self = { readyState: 0, close: close };

    self.addEventListener = function (name, fn) {
      (heard[name] = heard[name] || []).push(fn);
      want(name);
      if (!source) channel.postMessage({ want: name });
    };
    self.removeEventListener = function (name, fn) {
      heard[name] = (heard[name] || []).filter(function (f) { return f !== fn; });
    };
    channel.onmessage = function (e) {
      if (e.data.want) want(e.data.want); else deliver(e.data);
    };
    document.addEventListener("visibilitychange", look);
    look();
    return self;

    function want(name) {
      if (wanted[name]) return;
      wanted[name] = true;
      if (source) listen(name);
    }
    function listen(name) {
      source.addEventListener(name, function (e) { pass({ name: name, data: e.data, id: e.lastEventId }); });
    }
    function pass(message) { channel.postMessage(message); deliver(message); }
    function deliver(message) {
      if (message.id) last = message.id;
      if (message.open) { self.readyState = 1; if (self.onopen) self.onopen(message); return; }
      if (resting[message.name]) { late[message.name] = message; return; }
      resting[message.name] = setTimeout(function () {
        var next = late[message.name];
        late[message.name] = resting[message.name] = null;
        if (next) deliver(next);
      }, 1000);
      (heard[message.name] || []).slice().forEach(function (fn) {
        fn({ type: message.name, data: message.data, lastEventId: message.id });
      });
    }
    function lead() {
      waiting = null;
      source = new EventSource(url + (last ? (url.indexOf("?") < 0 ? "?" : "&") + "last=" + encodeURIComponent(last) : ""));
      source.onopen = function () { pass({ open: true }); };
      source.onerror = function (e) {
        if (source.readyState !== 2) return; /* it reconnects by itself */
        close();
        if (self.onerror) self.onerror(e);
      };
      listen("hello"); /* names where the stream begins, so that a tab that never heard anything is caught up too */
      Object.keys(wanted).forEach(listen);
      return new Promise(function (done) { release = done; });
    }
    function look() {
      if (document.hidden) letGo();
      else if (!source && !navigator.locks) lead();
      else if (!source && !waiting) {
        waiting = new AbortController();
        navigator.locks.request("live " + url, { signal: waiting.signal }, lead).catch(function () {});
      }
    }
    function letGo() {
      if (waiting) waiting.abort();
      if (source) source.close();
      if (release) release();
      waiting = source = release = null;
    }
    function close() {
      self.readyState = 2;
      document.removeEventListener("visibilitychange", look);
      letGo();
      channel.close();
    }
  };
})();
