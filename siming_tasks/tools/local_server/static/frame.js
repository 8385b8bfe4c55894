// The frame around a report's page: shows the page that the address names, and names the one that is shown.
"use strict";
{
  const frame = document.querySelector("iframe");
  const root = new URL(".", document.currentScript.src).href;
  const pages = `${root}report/`;
  const { href, hash } = location;

  const name = () => {
    const shown = frame.contentWindow.location.href;
    if (!shown.startsWith(pages)) return;
    document.title = frame.contentDocument.title;
    const address = `${root}#${shown.slice(pages.length)}`;
    if (address !== location.href) history.replaceState(null, "", address);
  };
  frame.src = pages + ((href.startsWith(pages) ? href.slice(pages.length) : hash.slice(1)) || "index.html");
  frame.addEventListener("load", () => frame.contentWindow.focus()); // keys are the report's
  setInterval(name, 400); // a page changes its own address without a word when another step is chosen
}
