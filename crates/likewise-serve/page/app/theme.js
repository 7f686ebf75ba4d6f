// Light or dark. A classic script in the head: it runs before the first paint, so nothing flashes.
(() => {
  const root = document.documentElement;
  const kept = (() => { try { return localStorage.getItem('likewise.theme'); } catch { return null; } })();
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const tell = () => dispatchEvent(new Event('likewise-theme'));
  system.addEventListener('change', tell);
  window.likewiseTheme = {
    dark,
    turn() {
      root.dataset.theme = dark() ? 'light' : 'dark';
      try { localStorage.setItem('likewise.theme', root.dataset.theme); } catch { /* lasts until the page closes */ }
      tell();
    },
  };
})();
