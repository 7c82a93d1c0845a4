// Creates elements of the page. File names, addresses and messages come from the peer, so they are set as text, not as markup.

const byId = (id) => document.getElementById(id);
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}
function show(element, visible) { element.hidden = !visible; }
