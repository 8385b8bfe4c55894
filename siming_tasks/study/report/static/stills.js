// Pictures of moments on a page that is all there.
"use strict";

{
  const stills = SIMING.stills(document.querySelector(".player-error"), 320);
  for (const picture of document.querySelectorAll(".still[data-media]")) stills.observe(picture);
}
