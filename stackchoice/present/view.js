// Shows a section and draws its pictures. What is the same as before is left as it is: an element
// that was unfolded stays so, and a picture is given other rows and not built again.

const vega = (globalThis.stackchoiceVega ??= Promise.withResolvers());

/** Make `old` the same as `fresh`, touching only what differs. */
function follow(old, fresh) {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    const now = old.childNodes[at];
    if (!now) old.append(node);
    else if (now.nodeName !== node.nodeName || !now.attributes) {
      if (!now.isEqualNode(node)) now.replaceWith(node);
    } else {
      for (const { name } of [...now.attributes])
        if (name !== 'open' && !node.hasAttribute(name)) now.removeAttribute(name);
      for (const { name, value } of node.attributes)
        if (now.getAttribute(name) !== value) now.setAttribute(name, value);
      if (!now.matches('figure')) follow(now, node);
    }
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

/** Return a picture that is drawn, in an element of its own. */
async function drawn({ key, rows }, spec) {
  const embed = await vega.promise;
  const full = structuredClone(spec);
  for (const one of full.data) if (one.name in rows) one.values = rows[one.name];
  const place = document.createElement('div');
  place.setAttribute('aria-hidden', 'true');
  const { view } = await embed(place, full, { mode: 'vega', renderer: 'svg', actions: false, defaultStyle: false });
  return { key, place, view, rows: JSON.stringify(rows) };
}

/** Give a picture other rows, if they are others. */
function redraw(picture, rows) {
  const text = JSON.stringify(rows);
  if (text === picture.rows) return;
  picture.rows = text;
  for (const [name, values] of Object.entries(rows)) picture.view.data(name, values);
  picture.view.run();
}

/** Every Why? that is open and still empty; of one answer, or of any. */
const empty = (el, key) =>
  [...el.querySelectorAll('details[data-why][open]')].filter(
    (one) => one.childElementCount === 1 && (key === undefined || one.dataset.why === key),
  );

export default {
  render({ model, el }) {
    let pictures = [];
    let turn = 0;
    el.classList.add('stackchoice-view');
    const ask = () => empty(el).forEach((one) => model.send({ why: one.dataset.why }));
    const told = ({ key, html }) => {
      const full = document.createElement('div');
      full.innerHTML = html;
      const parts = [...(full.querySelector('details')?.children ?? [])].slice(1);
      for (const one of empty(el, key)) one.append(...parts);
    };
    const show = async () => {
      const mine = ++turn;
      const { bare, pictures: wanted } = model.get('shown');
      const specs = model.get('specs');
      const kept = wanted.map(({ key }, at) => pictures[at]?.key === key);
      const next = await Promise.all(
        wanted.map((one, at) => (kept[at] ? pictures[at] : drawn(one, specs[one.key]))),
      );
      // Words and pictures change together, and never to an answer that another has overtaken.
      if (mine !== turn) return next.forEach((one, at) => kept[at] || one.view.finalize());
      pictures.forEach((one) => next.includes(one) || one.view.finalize());
      pictures = next;
      const fresh = document.createElement('div');
      fresh.innerHTML = bare;
      follow(el, fresh);
      const figures = el.querySelectorAll('figure');
      pictures.forEach((one, at) => {
        if (figures[at].firstChild !== one.place) figures[at].replaceChildren(one.place);
        redraw(one, wanted[at].rows);
      });
      ask();
    };
    el.addEventListener('toggle', ask, true);
    model.on('msg:custom', told);
    model.on('change:shown', show);
    show();
    return () => {
      turn += 1;
      model.off('msg:custom', told);
      model.off('change:shown', show);
      pictures.forEach((one) => one.view.finalize());
    };
  },
};
