// The terminal styles itself with style elements and style attributes, which the CSP refuses. The build puts these two
// in their place (see vite.config.ts): the same styles as objects, which it allows.

/** Take the place of a style element: its text goes into a sheet of the document's. */
export function styleElement(): HTMLElement {
  const element = document.createElement("span");
  const sheet = new CSSStyleSheet();
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

/** Take the place of a style attribute that is set. */
export function setStyle(element: HTMLElement, style: string): void {
  element.style.cssText = style;
}
