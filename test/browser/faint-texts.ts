/** The texts of a page whose colour is too near to that behind them, as WCAG counts it. */
export const FAINT_TEXTS = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const shine = (color) => {
    const [r, g, b] = channels(color).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const texts = [...document.body.querySelectorAll('*')].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''),
  );
  return texts.flatMap((element) => {
    const [light, dark] = [shine(getComputedStyle(element).color), shine(behind(element))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    return ratio < 4.5 ? [element.textContent + ': ' + ratio.toFixed(2)] : [];
  });
})()`;
