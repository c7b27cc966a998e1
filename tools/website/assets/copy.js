// The copy button of a block of commands copies them without their prompts: the theme copies `data-copy` where there is
// one. Output stands in blocks of its own.

for (const block of document.querySelectorAll(".language-console")) {
  const code = block.querySelector("code");
  if (code) block.setAttribute("data-copy", code.innerText.replace(/^\$ /gm, ""));
}
